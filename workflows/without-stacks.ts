/**
 * Evaluated once a worker, before any agent. The SDK writes down a stack for every promise that workflow code makes,
 * for the call stack that the Web UI can show; under many agents that was half of the workflow thread's work.
 */
Error.stackTraceLimit = 0;
