import { useRouter } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useState } from 'react';
import { CustomerLink } from '../dashboard/customer-link.tsx';
import { useProject } from '../data/project.ts';
import { type Hit, type Search, useSearch } from '../data/search-all.ts';
import { ProblemView } from '../parts/query-view.tsx';
import { Button } from '../ui/controls/button.tsx';
import { Dialog } from '../ui/controls/dialog.tsx';
import { Id } from '../ui/text/id.tsx';
import { Link } from '../ui/text/link.tsx';
import { Time } from '../ui/text/time.tsx';
import { useNavigation } from './navigation.ts';

/** One search over pages, ids, keys, customers, names and values. Enter opens the only hit, or the first. */
export function SearchPalette({ typed, onClose }: { typed: string; onClose(): void }) {
  const { at } = useProject();
  const router = useRouter();
  const [text, setText] = useState(typed);
  const [asked, setAsked] = useState('');
  const go = (page: string) => {
    onClose();
    router.history.push(at(page));
  };
  const search = useSearch(asked, go);
  const pages = useNavigation()
    .flatMap(([, all]) => all)
    .filter(([, name]) => text !== '' && name.toLowerCase().startsWith(text.toLowerCase()));
  const enter = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    const [page] = pages;
    const hit = asked === text.trim() ? search.groups[0]?.[1][0] : undefined;
    if (page !== undefined) go(page[0]);
    else if (hit !== undefined) go(hit.page);
    else setAsked(text.trim());
  };
  return (
    <Dialog title="Search" onClose={onClose} wide>
      {/* The arrow keys work in the field and on each answer. */}
      <div role="presentation" onKeyDown={moveFocus}>
        <input
          // In a search field of the browser Escape would empty it, not close the dialog.
          role="searchbox"
          data-stop
          aria-label="Search for an id, key, customer, name, type or value"
          placeholder="An id, idempotency key, customer, name, type or any value of a payload"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={enter}
          className="field w-full"
        />
        <div className="mt-3 min-h-40">
          {search.error !== null && <ProblemView error={search.error} />}
          {pages.length > 0 && (
            <Group name="Pages">
              {pages.map(([path, name]) => (
                <Row key={path} href={at(path)} title={name} onClick={onClose} />
              ))}
            </Group>
          )}
          {search.groups.map(([kind, hits]) => (
            <Group key={kind} name={`${kind} (${hits.length})`}>
              {hits.map((hit) => (
                <Row key={hit.page} href={at(hit.page)} title={hit.title} hit={hit} onClick={onClose} />
              ))}
            </Group>
          ))}
          {asked === '' && pages.length === 0 && (
            <p className="text-muted">Press Enter to search. The only hit opens at once.</p>
          )}
          {asked !== '' && search.error === null && <Reach asked={asked} search={search} />}
        </div>
      </div>
    </Dialog>
  );
}

interface Answers {
  asked: string;
  search: Search;
}

/** How far the search came. */
function Reach({ asked, search: { groups, from, isSearching, more } }: Answers) {
  const back = from === undefined ? null : <BackTo from={from} />;
  if (isSearching)
    return (
      <p role="status" className="mt-3 text-muted">
        Searching for “{asked}”{back !== null && ', searched '}
        {back}…
      </p>
    );
  return (
    <div className="mt-3 flex flex-wrap items-center gap-3 text-muted">
      <p role="status">
        {groups.length === 0 && `Nothing found for “${asked}”. `}
        Searched {back}.
      </p>
      {more !== undefined && <Button onClick={more}>Search older events</Button>}
    </div>
  );
}

const BackTo = ({ from }: { from: string | null }) =>
  from === null ? (
    'all events'
  ) : (
    <>
      events back to <Time at={from} />
    </>
  );

const Group = ({ name, children }: { name: string; children: ReactNode }) => (
  <section className="mb-3">
    <h3 className="px-1 text-xs font-normal text-muted">{name}</h3>
    <ul>{children}</ul>
  </section>
);

interface RowProps {
  href: string;
  title: string;
  hit?: Hit;
  onClick(): void;
}

function Row({ href, title, hit, onClick }: RowProps) {
  return (
    <li className="flex items-center gap-x-3 rounded-sm pr-1 hover:bg-hover">
      <Link
        href={href}
        onClick={onClick}
        data-stop
        className="flex min-h-8 min-w-0 grow flex-wrap items-center gap-x-3 rounded-sm px-1 sm:flex-nowrap"
      >
        <span className="min-w-0 truncate max-sm:grow">{title}</span>
        {hit !== undefined && (
          <>
            <span className="min-w-0 flex-1 truncate text-xs text-muted max-sm:order-last max-sm:basis-full max-sm:empty:hidden">
              {hit.note}
            </span>
            {hit.at !== null && <Id value={hit.uid} copy={false} />}
            <span className="text-xs text-muted">
              <Time at={hit.at} none="" />
            </span>
          </>
        )}
      </Link>
      {hit !== undefined && hit.owner !== '' && (
        <span className="max-w-32 shrink-0 truncate text-xs">
          <CustomerLink owner={hit.owner} onClick={onClick} />
        </span>
      )}
    </li>
  );
}

const STEP: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** The arrow keys go from the field to the answers and back. */
function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  const step = STEP[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-stop]')];
  stops[stops.indexOf(event.target as HTMLElement) + step]?.focus();
}
