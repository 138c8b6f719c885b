import { z } from 'zod';
import type { DialectTools, OperationTool } from './dialect-tools.ts';
import { AGENT_ID_MAX } from './ids.ts';
import type { ContentPart } from './items.ts';
import { isBlank, messageTextSchema } from './message-size.ts';
import { sandboxModeSchema } from './sandbox-modes.ts';
import { approvalPolicySchema } from './settings.ts';
import { boundedText, NAME_MAX, PATH_MAX } from './text-length.ts';

/** How many characters of instructions a call may give: they travel with each run of the agent. */
const SYSTEM_PROMPT_MAX = 50_000;
const IMAGES_MAX = 50;
const MAIL_ID_MAX = 100;
const MAILS_MAX = 200;
const MAILS_USUAL = 20;

const someText = messageTextSchema.refine((text) => !isBlank(text), { error: 'it is blank' });
const path = boundedText(PATH_MAX).min(1);
const subagentId = boundedText(AGENT_ID_MAX).min(1).describe('As subagent_open has told it');

export const subagentOpenArguments = z.strictObject({
  goal: someText.describe('What it is for, complete in itself: it sees nothing of this conversation'),
  system_prompt: boundedText(SYSTEM_PROMPT_MAX)
    .refine((text) => !isBlank(text), { error: 'it is blank' })
    .optional()
    .describe(
      'How it is to work: its role, in place of the usual one. Before you open several, write down their roles with update_plan, so that they do not overlap',
    ),
  model: boundedText(NAME_MAX).min(1).optional(),
  cwd: path.optional().describe("Another directory than yours needs a person's approval"),
  sandbox_mode: sandboxModeSchema.optional().describe('Yours, or a stricter one'),
  approval_policy: approvalPolicySchema.optional().describe('Yours, or a stricter one'),
  max_turns: z.int().positive().optional().describe('How many messages it answers at most'),
  max_runtime_ms: z
    .int()
    .positive()
    .optional()
    .describe('Milliseconds without anything to do after which it ends'),
});
export type SubagentOpenArguments = z.infer<typeof subagentOpenArguments>;

export const subagentReplyArguments = z
  .strictObject({
    subagent_id: subagentId,
    message: someText.describe(
      'Answered in a turn of its own; several to one sub-agent are answered in order',
    ),
    mode: z
      .enum(['blocking', 'nonblocking'])
      .default('blocking')
      .describe('blocking: returns the reply; nonblocking: goes on at once, and the reply comes as mail'),
    timeout_ms: z
      .int()
      .positive()
      .optional()
      .describe(
        'How long a blocking reply is waited for, clamped to the limits of the session; then it comes as mail',
      ),
    images: z
      .array(
        z
          .string()
          .min(1)
          .refine(isPathOrKnownScheme, { error: ({ input }) => unknownScheme(input) }),
      )
      .max(IMAGES_MAX)
      .optional()
      .describe('Paths of images, or their http(s): or data:image/ addresses'),
  })
  .transform(({ message, images = [], ...rest }) => {
    const items: ContentPart[] = [{ type: 'text', text: message }, ...images.map(imagePart)];
    return { ...rest, message, items };
  });
export type SubagentReplyArguments = z.infer<typeof subagentReplyArguments>;

const ADDRESS = /^(https?:\/\/|data:)/i;
const SCHEME = /^[a-z][a-z\d+.-]*:(?=\/\/)/i;

function isPathOrKnownScheme(place: string): boolean {
  return ADDRESS.test(place) || !SCHEME.test(place);
}

function unknownScheme(place: unknown): string {
  const [scheme = ''] = SCHEME.exec(String(place)) ?? [];
  return `the scheme ${scheme} is not taken; name a path, or an address with http:, https: or data:`;
}

function imagePart(place: string): ContentPart {
  if (ADDRESS.test(place)) return { type: 'image', image_url: place };
  return { type: 'local_image', path: place };
}

export const subagentMailboxArguments = z.strictObject({
  subagent_id: subagentId.optional().describe('Of this one only'),
  only_unread: z.boolean().default(false),
  limit: z.int().positive().max(MAILS_MAX).default(MAILS_USUAL),
});
export type SubagentMailboxArguments = z.infer<typeof subagentMailboxArguments>;

export const subagentReadArguments = z.strictObject({
  mail_id: boundedText(MAIL_ID_MAX).min(1),
  peek: z.boolean().default(false).describe('Leave it unread'),
});
export type SubagentReadArguments = z.infer<typeof subagentReadArguments>;

export const subagentEndArguments = z
  .strictObject({
    subagent_id: subagentId,
    persist: z.boolean().default(true).describe('Keep its conversation in a file'),
    archive_to: path
      .optional()
      .describe(
        'A file that does not exist yet, or a folder, where you may write; default: a place of the host',
      ),
  })
  .refine(({ persist, archive_to }) => persist || archive_to === undefined, {
    path: ['archive_to'],
    error: 'with persist false there is nothing to archive',
  });
export type SubagentEndArguments = z.infer<typeof subagentEndArguments>;

const mailboxTools: readonly OperationTool[] = [
  {
    name: 'subagent_open',
    description:
      'Opens a sub-agent for a goal; it does nothing until subagent_reply gives it its first message. When you are about to open several, first lay out with update_plan who does what. End each that you need no more (subagent_end).',
    parameters: subagentOpenArguments,
    delegates: true,
    summary: (args) => (args as SubagentOpenArguments).goal,
  },
  {
    name: 'subagent_reply',
    description:
      'Sends a message to a sub-agent and returns its reply with the tokens it took, or with mode nonblocking goes on at once. A reply that does not come in time, or was not waited for, comes as mail.',
    sends: true,
    parameters: subagentReplyArguments,
    summary: (args) => {
      const { subagent_id: id, message } = args as SubagentReplyArguments;
      return `${id} ${message}`;
    },
  },
  {
    name: 'subagent_mailbox',
    description:
      'Lists the replies of your sub-agents, the newest first. A notice tells you when one has come.',
    parameters: subagentMailboxArguments,
    summary: (args) => (args as SubagentMailboxArguments).subagent_id ?? '',
  },
  {
    name: 'subagent_read',
    description: 'Reads one mail: a reply with the tokens it took, or why there is none.',
    parameters: subagentReadArguments,
    summary: (args) => (args as SubagentReadArguments).mail_id,
  },
  {
    name: 'subagent_end',
    description:
      'Ends a sub-agent with all below it, and keeps its conversation in a file unless persist is false. What it had not answered fails.',
    parameters: subagentEndArguments,
    summary: (args) => (args as SubagentEndArguments).subagent_id,
  },
];

export const mailboxDialect: DialectTools = {
  operations: mailboxTools,
  readers: [],
  tooDeep: 'Agent depth limit reached. Solve the task yourself.',
  presumed: { max_depth: 1 },
  guidance: {
    text: 'With subagent_open you open a sub-agent for a goal, with subagent_reply you give it messages; each is answered in a turn of its own. It pays for parts that are independent and large enough to be worth explaining; do the rest yourself. A sub-agent sees nothing of this conversation: goal and message must carry the places to look, the limits, and what to hand back. To have several work side by side, open them all, send each its message with mode nonblocking, and go on with your own part; a notice tells when a reply has come, subagent_mailbox lists and subagent_read reads what there is. A blocking reply that does not come in time is no failure: it comes as mail. Check what matters in the replies, and end those that you need no more with subagent_end.',
  },
};
