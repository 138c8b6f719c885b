/** For tools of one's own: define them here, hand them to a worker. */
export type { ApprovalNeed } from '../../protocol/index.ts';
export { ApprovalNeeded } from './approval-needed.ts';
export {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolResult,
  type ToolSpec,
} from './define-tool.ts';
