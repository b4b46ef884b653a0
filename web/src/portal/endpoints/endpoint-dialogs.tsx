import type { Endpoint, Subscription } from 'posthorn-client';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { pickedTypes } from '../../parts/event-types.ts';
import { useWords } from '../../parts/words.ts';
import { TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { at } from '../address.ts';
import { useRights } from '../link.ts';
import { api } from '../session.ts';
import { EventTypePicker } from './event-type-picker.tsx';

interface Props {
  endpoint: Endpoint;
  onClose(): void;
}

export function EditEndpoint({ endpoint, onClose }: Props) {
  const { endpoints: t } = useWords();
  const { seeSecrets } = useRights();
  const { type, api_key: key } = endpoint.authentication ?? {};
  // Other ways to sign in are set by the API and stay as they are.
  const isHeader = type === undefined || type === '' || type === 'api_key';
  const save = (form: FormData) => {
    const text = (name: string) => formText(form, name);
    const header_name = text('headerName');
    const authentication =
      header_name === ''
        ? { type: '' as const }
        : { type: 'api_key' as const, api_key: { header_name, header_value: text('headerValue') } };
    return api.endpoints.update(endpoint.uid, {
      name: text('name'),
      url: text('url'),
      support_email: text('mail'),
      // A reader who does not see the header leaves it as it is, or enters another.
      ...(isHeader && (seeSecrets || header_name !== '') ? { authentication } : {}),
    });
  };
  return (
    <ActDialog title={t.editTitle(endpoint.name)} action={t.save} onClose={onClose} onSubmit={save}>
      <TextField label={t.address} name="url" type="url" required defaultValue={endpoint.url} />
      <TextField label={t.nameLabel} name="name" required defaultValue={endpoint.name} />
      <TextField label={t.mail} name="mail" type="email" defaultValue={endpoint.support_email} />
      {isHeader && (
        <fieldset className="grid gap-2 sm:grid-cols-2">
          <legend className="mb-1 font-semibold">{t.header}</legend>
          <TextField
            label={t.headerName}
            name="headerName"
            placeholder="X-Api-Key"
            defaultValue={key?.header_name}
            hint={seeSecrets ? t.headerHint : t.hiddenHeaderHint}
          />
          <TextField
            label={t.headerValue}
            name="headerValue"
            autoComplete="off"
            defaultValue={key?.header_value}
          />
        </fieldset>
      )}
    </ActDialog>
  );
}

export function DeleteEndpoint({ endpoint, onClose }: Props) {
  const { endpoints: t } = useWords();
  return (
    <DangerDialog
      what={t.deleteTitle(endpoint.name)}
      act={() => api.endpoints.delete(endpoint.uid)}
      leadsTo={at('endpoints')}
      onClose={onClose}
    >
      {t.deleteText}
    </DangerDialog>
  );
}

/** The event types of one subscription. Without one, a subscription is made. */
export function ChooseTypes({
  endpoint,
  subscription,
  onClose,
}: Props & { subscription: Subscription | undefined }) {
  const { endpoints: t } = useWords();
  const save = (form: FormData): Promise<unknown> => {
    const event_types = pickedTypes(form);
    if (subscription === undefined)
      return api.subscriptions.create({
        name: endpoint.name,
        endpoint_id: endpoint.uid,
        filter_config: { event_types },
      });
    const { body, headers, query, path } = subscription.filter_config.filter;
    // An update replaces the whole filter, so its conditions go along.
    return api.subscriptions.update(subscription.uid, {
      filter_config: { event_types, filter: { body, headers, query, path } },
    });
  };
  return (
    <ActDialog title={t.types} action={t.saveTypes} onClose={onClose} onSubmit={save}>
      <EventTypePicker chosen={subscription?.filter_config.event_types ?? []} />
    </ActDialog>
  );
}
