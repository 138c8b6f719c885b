/** What can be found out before a session starts, without a worker: quick to load. */
export { tryServers } from '../activities/mcp/try-servers.ts';
export { imageDigest } from '../activities/model/providers/image-file.ts';
export { createResolveRole } from '../activities/roles/resolve-role.ts';
export { type SandboxReport, sandboxReport } from '../activities/sandbox/detect-sandbox.ts';
