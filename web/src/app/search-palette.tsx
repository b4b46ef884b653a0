import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { type KeyboardEvent, useState } from 'react';
import { useProject } from '../data/project.ts';
import { type Hit, searchAll } from '../data/search-all.ts';
import { ProblemView } from '../parts/query-view.tsx';
import { Dialog } from '../ui/controls/dialog.tsx';
import { Link } from '../ui/text/link.tsx';
import { useNavigation } from './navigation.ts';

/** One search over pages, ids, keys, customers, names and values. Enter opens the only hit, or the first. */
export function SearchPalette({ onClose }: { onClose(): void }) {
  const { api, id, at } = useProject();
  const router = useRouter();
  const [text, setText] = useState('');
  const [asked, setAsked] = useState('');
  const found = useQuery({
    queryKey: [id, 'search', asked],
    queryFn: async () => {
      const result = await searchAll(api, asked);
      const [only] = result.hits;
      if (result.hits.length === 1 && only !== undefined) open(only);
      return result;
    },
    enabled: asked !== '',
  });
  const go = (href: string) => {
    onClose();
    router.history.push(href);
  };
  const open = (hit: Hit) => go(at(hit.page));
  const pages = useNavigation()
    .flatMap(([, all]) => all)
    .filter(([, name]) => text !== '' && name.toLowerCase().startsWith(text.toLowerCase()));
  const enter = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    const [page] = pages;
    const [hit] = asked === text ? (found.data?.hits ?? []) : [];
    if (page !== undefined) go(at(page[0]));
    else if (hit !== undefined) open(hit);
    else setAsked(text.trim());
  };
  return (
    <Dialog title="Search" onClose={onClose} wide>
      <input
        // The dialog was opened to type here.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        type="search"
        aria-label="Search for an id, key, customer, name, type or value"
        placeholder="An id, idempotency key, customer, name, type or any value of a payload"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={enter}
        className="field w-full"
      />
      <div className="mt-3 min-h-40">
        {found.error !== null && <ProblemView error={found.error} />}
        {found.isFetching && <p role="status">Searching for “{asked}”…</p>}
        {found.data?.hits.length === 0 && <p>Nothing found for “{asked}”.</p>}
        {found.data !== undefined && <p className="text-xs text-muted">{found.data.reach}</p>}
        <ul>
          {pages.map(([path, name]) => (
            <Row key={path} href={at(path)} kind="Page" title={name} note="" onClick={onClose} />
          ))}
          {(found.data?.hits ?? []).map((hit) => (
            <Row
              key={hit.page}
              href={at(hit.page)}
              kind={hit.kind}
              title={hit.title}
              note={hit.note}
              onClick={onClose}
            />
          ))}
        </ul>
        {asked === '' && pages.length === 0 && (
          <p className="text-muted">Press Enter to search. The only hit opens at once.</p>
        )}
      </div>
    </Dialog>
  );
}

function Row({
  href,
  kind,
  title,
  note,
  onClick,
}: {
  href: string;
  kind: string;
  title: string;
  note: string;
  onClick(): void;
}) {
  return (
    <li>
      <Link
        href={href}
        onClick={onClick}
        className="flex min-h-8 items-center gap-3 rounded-sm px-1 hover:bg-hover"
      >
        <span className="w-24 shrink-0 text-muted">{kind}</span>
        <span className="min-w-0 truncate">{title}</span>
        <span className="min-w-0 flex-1 truncate text-right text-xs text-muted">{note}</span>
      </Link>
    </li>
  );
}
