import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { Fold, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

const CHATS = [
  ['slack_webhook_url', 'Slack webhook'],
  ['teams_webhook_url', 'Teams webhook'],
] as const;

/** The chats that get the alerts of the endpoint. */
export const ChatFields = ({ endpoint }: { endpoint: Endpoint }) => (
  <Fold title="Alerts to Slack or Teams" open={CHATS.some(([name]) => endpoint[name] !== '')}>
    {CHATS.map(([name, label]) => (
      <TextField key={name} {...{ name, label }} type="url" defaultValue={endpoint[name]} />
    ))}
  </Fold>
);

/** The addresses of chats, from the fields of the form. */
export const chatsOf = (form: FormData): Partial<UpdateEndpoint> =>
  Object.fromEntries(CHATS.map(([name]) => [name, formText(form, name)]));
