/** What can be found out before a session starts, without a worker: quick to load. */
export { imageDigest } from '../activities/model/providers/image-file.ts';
export { roleNamed } from '../activities/roles/find-role.ts';
export { type SandboxReport, sandboxReport } from '../activities/sandbox/detect-sandbox.ts';
