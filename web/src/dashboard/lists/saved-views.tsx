import { useQuery } from '@tanstack/react-query';
import type { SavedView as View } from 'posthorn-client';
import { useState } from 'react';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { type Search, useFilters } from '../../data/search.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { useAct } from '../../parts/acts.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { FilterSelect } from '../../ui/controls/filter-controls.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { useGo } from '../../ui/text/link.tsx';

/** The filters as text, in one order. */
function queryOf(search: Search): string {
  const query = new URLSearchParams(
    Object.entries(search).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  query.sort();
  return query.toString();
}

/** Filters of a page under a name, for all users of the project. */
export function SavedViews({ page }: { page: string }) {
  const { api, id, at } = useProject();
  const go = useGo();
  const [search] = useFilters();
  const [saving, setSaving] = useState(false);
  const mayChange = useMay()('saveView');
  const { data } = useQuery({ queryKey: [id, 'views'], queryFn: () => api.views.list(), staleTime: 30_000 });
  const views = (data ?? []).filter((view) => view.page === page);
  const query = queryOf(search);
  const here = views.find((view) => view.query === query);
  const remove = useAct(
    async (view: View) => {
      await api.views.delete(view.uid);
      return view;
    },
    ({ name }) => `View ${name} deleted`,
    ({ page: where, name, query: filters }) => api.views.save({ page: where, name, query: filters }),
  );
  return (
    <>
      {views.length > 0 && (
        <FilterSelect
          label="Saved view"
          value={here?.uid ?? ''}
          onChange={(uid) => {
            const chosen = views.find((view) => view.uid === uid);
            go(`${at(page)}?${chosen?.query ?? ''}`);
          }}
          choices={[['', 'Saved views'], ...views.map(({ uid, name }) => [uid, name] as const)]}
        />
      )}
      {mayChange && here !== undefined && (
        <Button look="quiet" onClick={() => remove.mutate(here)} busy={remove.isPending && 'Deleting'}>
          Delete view
        </Button>
      )}
      {mayChange && here === undefined && query !== '' && (
        <Button look="quiet" onClick={() => setSaving(true)}>
          Save view…
        </Button>
      )}
      {saving && <SaveView page={page} query={query} onClose={() => setSaving(false)} />}
    </>
  );
}

function SaveView({ page, query, onClose }: { page: string; query: string; onClose(): void }) {
  const { api } = useProject();
  const save = async (form: FormData) => {
    await api.views.save({ page, name: formText(form, 'name'), query });
  };
  return (
    <ActDialog title="Save view" action="Save view" onClose={onClose} onSubmit={save}>
      <TextField
        label="Name"
        name="name"
        required
        maxLength={100}
        hint="All users of the project see it. A view of the same name is replaced."
      />
    </ActDialog>
  );
}
