import type { Project } from 'posthorn-client';
import { useRef, useState } from 'react';
import { May } from '../../dashboard/may.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useSettings } from '../../data/choices.ts';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { useAct } from '../../parts/acts.tsx';
import { useSave, useUntilTyped } from '../../parts/forms/save.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { FormFields } from '../../parts/resource-field.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { Fold, TextField } from '../../ui/controls/fields.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Id } from '../../ui/text/id.tsx';
import { DeleteProject } from './delete-project.tsx';
import { editedProject, SETTINGS, settingsIn } from './project-form.ts';
import { SigningKeys } from './signing-keys.tsx';
import { VariableFields } from './variable-fields.tsx';

export function Settings() {
  const project = useSettings();
  return (
    <PageBody>
      <QueryView query={project} label="Loading the settings" rows={12}>
        {(data) => <Latest project={data} />}
      </QueryView>
    </PageBody>
  );
}

/** The settings as they were read last, until the reader types. */
function Latest({ project }: { project: Project }) {
  const [isTyped, setTyped] = useState(false);
  const shown = useUntilTyped(project, isTyped);
  return <Form key={shown.updated_at} project={shown} onTyped={setTyped} />;
}

function Form({ project, onTyped }: { project: Project; onTyped(isTyped: boolean): void }) {
  const { api } = useProject();
  const [deleting, setDeleting] = useState(false);
  const mayChange = useMay()('updateProject');
  const changed = useSave();
  const first = useRef<object>(undefined);
  const save = useAct(
    (form: HTMLFormElement) => {
      const values = settingsIn(new FormData(form));
      return changed(editedProject(api, project), { first: first.current, changeOf: () => values, form });
    },
    () => 'Settings saved',
  );
  const submit = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.mutate(event.currentTarget, { onSuccess: () => onTyped(false) });
  };
  return (
    <div className="max-w-3xl">
      <form
        ref={(form) => {
          if (form !== null) first.current ??= settingsIn(new FormData(form));
        }}
        onSubmit={submit}
        onInput={() => onTyped(true)}
      >
        <PageHead title="Settings" beside={<Id value={project.uid} what="project id" />}>
          {mayChange ? (
            <Button type="submit" look="main" busy={save.isPending && 'Saving'}>
              Save settings
            </Button>
          ) : (
            <p className="text-muted">Administrators of the project change them.</p>
          )}
        </PageHead>
        <fieldset disabled={!mayChange} className="min-w-0">
          <TextField label="Name" name="name" required defaultValue={project.name} />
          {SETTINGS.map(({ title, form, rare }) => (
            <Section key={title} title={title}>
              <div className="grid gap-3">
                <FormFields form={form} of={project.config} />
                {rare !== undefined && (
                  <Fold title={rare.title}>
                    <FormFields form={rare.form} of={project.config} />
                  </Fold>
                )}
              </div>
            </Section>
          ))}
          <VariableFields variables={project.variables} />
        </fieldset>
      </form>
      {/* Dialogs are forms too: within the form above, theirs would send it. */}
      <SigningKeys />
      <May use="deleteProject">
        <Section title="Delete">
          <Button look="danger" onClick={() => setDeleting(true)}>
            Delete project…
          </Button>
        </Section>
      </May>
      {deleting && <DeleteProject project={project} onClose={() => setDeleting(false)} />}
    </div>
  );
}
