import { useQueryClient } from '@tanstack/react-query';
import type { EventType } from 'posthorn-client';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { FormDialog } from '../../ui/controls/dialog.tsx';
import { TextArea, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

/** A new type, or another description and schema of one. Names do not change. */
export function EditType({ type, onClose }: { type?: EventType; onClose(): void }) {
  const { api } = useProject();
  const queries = useQueryClient();
  const save = async (form: FormData) => {
    const schema = formText(form, 'schema');
    const fields = {
      category: formText(form, 'category'),
      description: formText(form, 'description'),
      ...(schema === '' ? {} : { json_schema: JSON.parse(schema) as Record<string, unknown> }),
    };
    if (type === undefined) await api.eventTypes.create({ name: formText(form, 'name'), ...fields });
    else await api.eventTypes.update(type.uid, fields);
    await queries.invalidateQueries();
  };
  const title = type === undefined ? 'Add event type' : `Edit ${type.name}`;
  return (
    <FormDialog
      title={title}
      action={type === undefined ? title : 'Save event type'}
      onClose={onClose}
      onSubmit={save}
      explain={explain}
    >
      {type === undefined && <TextField label="Name" name="name" required placeholder="invoice.paid" />}
      <TextField label="Category" name="category" defaultValue={type?.category} />
      <TextField label="Description" name="description" defaultValue={type?.description} />
      <TextArea
        label="JSON Schema"
        name="schema"
        defaultValue={type?.json_schema == null ? '' : JSON.stringify(type.json_schema, null, 2)}
      />
    </FormDialog>
  );
}

const explain = (error: unknown): string =>
  error instanceof SyntaxError ? `The schema is no JSON: ${error.message}` : errorText(error);

export function ImportTypes({ onClose }: { onClose(): void }) {
  const { api } = useProject();
  const queries = useQueryClient();
  const load = async (form: FormData) => {
    await api.eventTypes.import({ spec: formText(form, 'spec') });
    await queries.invalidateQueries();
  };
  return (
    <FormDialog
      title="Import event types"
      action="Import"
      onClose={onClose}
      onSubmit={load}
      explain={errorText}
      wide
    >
      <TextArea
        label="OpenAPI document"
        name="spec"
        required
        rows={14}
        hint="JSON or YAML. Each of its webhooks becomes an event type, with its schema."
      />
    </FormDialog>
  );
}
