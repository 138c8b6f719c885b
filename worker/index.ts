export { type SandboxReport, sandboxReport } from '../activities/sandbox/detect-sandbox.ts';
export { defineTool, type Tool, type ToolContext, type ToolResult } from '../activities/tools/define-tool.ts';
export { createWorker } from './create-worker.ts';
export { SpanIdGenerator } from './tracing/span-ids.ts';
export type { CadreWorker, WorkerOptions, WorkerVersion } from './types.ts';
