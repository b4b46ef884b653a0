import type { Project } from 'posthorn-client';
import { useState } from 'react';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useSettings } from '../../data/choices.ts';
import { useProject } from '../../data/project.ts';
import { useAct } from '../../parts/acts.tsx';
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
        {(data) => <Editor key={data.updated_at} stored={data.config.portal} />}
      </QueryView>
    </PageBody>
  );
}

function Editor({ stored }: { stored: Theme }) {
  const { api, id } = useProject();
  const [theme, setTheme] = useState(stored);
  const save = useAct(
    () => api.projects.update(id, { config: { portal: theme } }),
    () => 'Portal page saved',
    () => api.projects.update(id, { config: { portal: stored } }),
  );
  const submit = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit} className="@container">
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
