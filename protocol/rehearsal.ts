/** The provider that plays the built-in script; its model has the same name. */
export const REHEARSAL_PROVIDER = 'rehearsal';

/** Said on stderr at every start that has no real model. */
export const REHEARSAL_NOTICE = `No model is configured: a built-in rehearsal script plays the model. It surveys the current folder, whatever the task says; the agents, commands and waits are real.
To use a real model, set OPENAI_API_KEY, or OPENAI_BASE_URL for any OpenAI-compatible server (no key needed for a local one), or name one under [model_providers] in the configuration.`;
