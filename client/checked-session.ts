import { type SessionSettings, type SessionSettingsInput, sessionSettingsSchema } from '../protocol/index.ts';
import { checked } from './checked.ts';
import { checkedSchema } from './output-schema.ts';

/**
 * What all agents of a session shall share, as a program gives it, with defaults filled in.
 *
 * @throws CadreError `invalid_arguments`
 */
export async function checkedSession(given: SessionSettingsInput): Promise<SessionSettings> {
  const session = checked(sessionSettingsSchema, given, 'session');
  if (session.output_schema !== undefined) {
    await checkedSchema(session.output_schema, 'session.output_schema');
  }
  return session;
}
