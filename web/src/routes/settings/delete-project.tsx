import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Project } from 'posthorn-client';
import { FieldError } from '../../data/field-error.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

export function DeleteProject({ project, onClose }: { project: Project; onClose(): void }) {
  const { api } = useProject();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = async (form: FormData) => {
    if (formText(form, 'name') !== project.name)
      throw new FieldError({ field: 'name', problem: 'That is not the name of the project.' });
    await api.projects.delete(project.uid);
    queries.clear();
    await navigate({ to: '/' });
  };
  return (
    <ActDialog
      title={`Delete ${project.name}`}
      action={`Delete ${project.name}`}
      danger
      onClose={onClose}
      onSubmit={remove}
    >
      <p>Its keys stop working at once. Its endpoints, events and deliveries are deleted.</p>
      <TextField label={`Type ${project.name} to go on`} name="name" required autoComplete="off" />
    </ActDialog>
  );
}
