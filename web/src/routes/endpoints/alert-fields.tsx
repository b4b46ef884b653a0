import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { endpointForm } from '../../data/form-fields.ts';
import { ResourceField } from '../../parts/resource-field.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

const CHATS = ['slack_webhook_url', 'teams_webhook_url'] as const;

/** Where alerts of the endpoint go. */
export function AlertFields({ endpoint }: { endpoint: Endpoint }) {
  return (
    <>
      <ResourceField form={endpointForm} of={endpoint} name="support_email" type="email" />
      <details open={CHATS.some((field) => endpoint[field] !== '')}>
        <summary className="link w-fit">Slack or Teams on trouble</summary>
        <div className="mt-3 grid gap-4 border-l-2 border-line pl-4">
          <TextField
            label="Slack webhook"
            name="slack_webhook_url"
            type="url"
            defaultValue={endpoint.slack_webhook_url}
          />
          <TextField
            label="Teams webhook"
            name="teams_webhook_url"
            type="url"
            defaultValue={endpoint.teams_webhook_url}
          />
        </div>
      </details>
    </>
  );
}

/** The addresses of chats, from the fields of the form. */
export function chatsOf(form: FormData): Partial<UpdateEndpoint> {
  return Object.fromEntries(CHATS.map((field) => [field, formText(form, field)]));
}
