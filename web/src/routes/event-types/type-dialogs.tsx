import type { EventType, UpdateEventType } from 'posthorn-client';
import { fieldJson } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { EditDialog } from '../../parts/forms/edit-dialog.tsx';
import { useAsOpened } from '../../parts/forms/save.ts';
import { TextArea, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

function fieldsOf(form: FormData): UpdateEventType {
  const schema = formText(form, 'schema');
  return {
    category: formText(form, 'category'),
    description: formText(form, 'description'),
    ...(schema === '' ? {} : { json_schema: fieldJson('schema', schema) as Record<string, unknown> }),
  };
}

interface Props {
  onClose(): void;
}

export function AddType({ onClose }: Props) {
  const { eventTypes } = useProject().api;
  const add = (form: FormData) => eventTypes.create({ name: formText(form, 'name'), ...fieldsOf(form) });
  return (
    <ActDialog title="Add event type" action="Add event type" onClose={onClose} onSubmit={add}>
      <TextField label="Name" name="name" required placeholder="invoice.paid" />
      <Fields />
    </ActDialog>
  );
}

/** Another description and schema of a type. Names do not change. */
export function EditType({ type: given, onClose }: Props & { type: EventType }) {
  const { api } = useProject();
  const type = useAsOpened(given);
  return (
    <EditDialog
      title={`Edit ${type.name}`}
      action="Save event type"
      onClose={onClose}
      edited={{
        stored: type,
        version: () => api.configVersion(),
        read: async () => (await api.eventTypes.list()).find(({ uid }) => uid === type.uid) ?? type,
        write: (change: UpdateEventType, options) => api.eventTypes.update(type.uid, change, options),
      }}
      changeOf={fieldsOf}
      labels={{ json_schema: SCHEMA }}
    >
      <Fields type={type} />
    </EditDialog>
  );
}

const SCHEMA = 'JSON Schema';

const Fields = ({ type }: { type?: EventType }) => (
  <>
    <TextField label="Category" name="category" defaultValue={type?.category} />
    <TextField label="Description" name="description" defaultValue={type?.description} />
    <TextArea
      label={SCHEMA}
      name="schema"
      defaultValue={type?.json_schema == null ? '' : JSON.stringify(type.json_schema, null, 2)}
    />
  </>
);

export function ImportTypes({ onClose }: Props) {
  const { api } = useProject();
  const load = async (form: FormData) => {
    await api.eventTypes.import({ spec: formText(form, 'spec') });
  };
  return (
    <ActDialog title="Import event types" action="Import" onClose={onClose} onSubmit={load} wide>
      <TextArea
        label="OpenAPI document"
        name="spec"
        required
        rows={14}
        hint="JSON or YAML. Each of its webhooks becomes an event type, with its schema."
      />
    </ActDialog>
  );
}
