/** For tools of one's own: define them here, hand them to a worker. */
export {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolResult,
  type ToolSpec,
} from './define-tool.ts';
