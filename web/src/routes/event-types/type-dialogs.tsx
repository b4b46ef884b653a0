import type { EventType } from 'posthorn-client';
import { fieldJson } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { TextArea, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

/** A new type, or another description and schema of one. Names do not change. */
export function EditType({ type, onClose }: { type?: EventType; onClose(): void }) {
  const { api } = useProject();
  const save = async (form: FormData) => {
    const schema = formText(form, 'schema');
    const fields = {
      category: formText(form, 'category'),
      description: formText(form, 'description'),
      ...(schema === '' ? {} : { json_schema: fieldJson('schema', schema) as Record<string, unknown> }),
    };
    if (type === undefined) await api.eventTypes.create({ name: formText(form, 'name'), ...fields });
    else await api.eventTypes.update(type.uid, fields);
  };
  const title = type === undefined ? 'Add event type' : `Edit ${type.name}`;
  return (
    <ActDialog
      title={title}
      action={type === undefined ? title : 'Save event type'}
      onClose={onClose}
      onSubmit={save}
    >
      {type === undefined && <TextField label="Name" name="name" required placeholder="invoice.paid" />}
      <TextField label="Category" name="category" defaultValue={type?.category} />
      <TextField label="Description" name="description" defaultValue={type?.description} />
      <TextArea
        label="JSON Schema"
        name="schema"
        defaultValue={type?.json_schema == null ? '' : JSON.stringify(type.json_schema, null, 2)}
      />
    </ActDialog>
  );
}

export function ImportTypes({ onClose }: { onClose(): void }) {
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
