import { useQuery } from '@tanstack/react-query';
import { Navigate, Outlet, useParams } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { MeContext, rememberProject } from '../data/project.ts';
import { isSignedOut, readMe } from '../data/session.ts';
import { QueryView } from '../parts/query-view.tsx';
import { IconButton } from '../ui/controls/button.tsx';
import { isAlone, isCommand } from '../ui/controls/keys.ts';
import { TimeStyleContext } from '../ui/text/time.tsx';
import { useTimeStyle } from './preferences.ts';
import { SearchPalette } from './search-palette.tsx';
import { Sidebar } from './sidebar.tsx';

/** Everything around a page. Readers who are not signed in go to the sign-in page. */
export function Shell() {
  const me = useQuery({ queryKey: ['me'], queryFn: readMe, staleTime: 60_000 });
  const search = useSearchKeys();
  if (isSignedOut(me.error)) return <Navigate to="/sign-in" />;
  if (me.data === undefined)
    return (
      <main className="p-4">
        <QueryView query={me} label="Loading your projects">
          {() => null}
        </QueryView>
      </main>
    );
  return (
    <MeContext.Provider value={me.data}>
      <Frame search={search} />
    </MeContext.Provider>
  );
}

interface Search {
  /** The text that was typed before the search was shown. Undefined: it is not open. */
  typed: string | undefined;
  set(typed: string | undefined): void;
}

/** `/` and Ctrl+K open the search. Keys that follow while the page still loads are kept for it. */
function useSearchKeys(): Search {
  const [typed, set] = useState<string>();
  const { project } = useParams({ strict: false }) as { project?: string };
  useEffect(() => {
    if (project === undefined) return undefined;
    const take = (event: KeyboardEvent) => {
      const isOpening = isCommand(event, 'k') || (event.key === '/' && isAlone(event));
      if (isOpening) set((before) => before ?? '');
      else if (event.key.length === 1 && isAlone(event))
        set((before) => (before === undefined ? before : before + event.key));
      if (isOpening) event.preventDefault();
    };
    addEventListener('keydown', take);
    return () => removeEventListener('keydown', take);
  }, [project]);
  return { typed, set };
}

function Frame({ search: { typed, set } }: { search: Search }) {
  const [style, setStyle] = useTimeStyle();
  const menu = useRef<HTMLDialogElement>(null);
  const { project } = useParams({ strict: false }) as { project?: string };
  useEffect(() => {
    if (project !== undefined) rememberProject(project);
  }, [project]);
  const search = () => {
    menu.current?.close();
    set('');
  };
  const sidebar = (
    <Sidebar style={style} setStyle={setStyle} onSearch={search} onLeave={() => menu.current?.close()} />
  );
  return (
    <TimeStyleContext.Provider value={style}>
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-raised focus:p-2"
      >
        Skip to the page
      </a>
      <div className="flex h-full flex-col md:flex-row">
        <div className="flex h-11 items-center gap-2 border-b border-line bg-panel px-2 md:hidden">
          <IconButton icon="menu" label="Menu" onClick={() => menu.current?.showModal()} />
          <span className="grow font-semibold">Posthorn</span>
          {project !== undefined && <IconButton icon="search" label="Search" onClick={search} />}
        </div>
        <aside className="hidden w-52 shrink-0 border-r border-line md:block">{sidebar}</aside>
        <dialog
          ref={menu}
          aria-label="Menu"
          className="m-0 h-dvh max-h-none w-64 border-r border-line bg-panel p-0 backdrop:bg-black/45 md:hidden"
        >
          {sidebar}
        </dialog>
        <main id="main" className="min-h-0 min-w-0 flex-1">
          <Outlet />
        </main>
      </div>
      {typed !== undefined && project !== undefined && (
        <SearchPalette typed={typed} onClose={() => set(undefined)} />
      )}
    </TimeStyleContext.Provider>
  );
}
