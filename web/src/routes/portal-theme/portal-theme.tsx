import type { Project } from 'posthorn-client';
import { useState } from 'react';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useSettings } from '../../data/choices.ts';
import type { Edited } from '../../data/edit/save-change.ts';
import { useProject } from '../../data/project.ts';
import { useAct } from '../../parts/acts.tsx';
import { useSave, useUntilTyped } from '../../parts/forms/save.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { PortalPreview } from '../../portal/preview.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { ThemeFields } from './theme-fields.tsx';

type Theme = Project['config']['portal'];

/** How the portal of the project looks, set next to a preview. */
export function PortalThemePage() {
  const project = useSettings();
  return (
    <PageBody>
      <QueryView query={project} label="Loading the portal page" rows={8}>
        {(data) => <Latest project={data} />}
      </QueryView>
    </PageBody>
  );
}

/** The theme as it was read last, until the reader changes it. */
function Latest({ project }: { project: Project }) {
  const [isTyped, setTyped] = useState(false);
  const shown = useUntilTyped(project, isTyped);
  return <Editor key={shown.updated_at} stored={shown.config.portal} onTyped={setTyped} />;
}

function Editor({ stored, onTyped }: { stored: Theme; onTyped(isTyped: boolean): void }) {
  const { api, id } = useProject();
  const [theme, setTheme] = useState(stored);
  const changed = useSave();
  const edited = (from: Theme): Edited<Theme, Theme> => ({
    stored: from,
    version: () => api.configVersion(),
    read: async () => (await api.projects.get(id)).config.portal,
    write: async (portal, options) => {
      const project = await api.projects.update(id, { config: { portal } }, options);
      return project.config.portal;
    },
  });
  const save = useAct(
    (form: HTMLFormElement) => changed(edited(stored), { first: stored, changeOf: () => theme, form }),
    () => 'Portal page saved',
    (saved) => changed(edited(saved), { first: theme, changeOf: () => stored }),
  );
  const submit = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.mutate(event.currentTarget, { onSuccess: () => onTyped(false) });
  };
  return (
    <form onSubmit={submit} onInput={() => onTyped(true)} className="@container">
      <PageHead title="Portal page">
        <Button type="submit" look="main" busy={save.isPending && 'Saving'}>
          Save portal page
        </Button>
      </PageHead>
      <p className="mb-4 max-w-[75ch] text-muted">
        Your customers open it with a portal link. Every page that shows it in a frame must be in the list of
        origins.
      </p>
      <div className="grid grid-cols-1 gap-6 @4xl:grid-cols-[20rem_minmax(0,1fr)]">
        <ThemeFields theme={theme} onChange={(patch) => setTheme({ ...theme, ...patch })} />
        <div>
          <h2 className="mb-1 font-semibold">Preview</h2>
          <PortalPreview theme={theme} />
        </div>
      </div>
    </form>
  );
}
