import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { QueryView } from '../parts/query-view.tsx';
import { ServiceWatch } from '../parts/service-watch.tsx';
import { useWords } from '../parts/words.ts';
import { SiteNameContext, usePageTitle } from '../ui/page/page-title.ts';
import { ErrorPanel } from '../ui/page/states.tsx';
import { usePlace } from './address.ts';
import { Deliveries } from './deliveries/deliveries.tsx';
import { DeliveryPage } from './deliveries/delivery-page.tsx';
import { EndpointPage } from './endpoints/endpoint-page.tsx';
import { Endpoints } from './endpoints/endpoints.tsx';
import { EventTypes } from './event-types.tsx';
import { Frame } from './frame.tsx';
import { isEmbedded } from './host.ts';
import { LinkContext } from './link.ts';
import { Numbers } from './numbers.tsx';
import { api, useSession } from './session.ts';
import type { Theme } from './theme.ts';
import { Verify } from './verify/verify.tsx';

/** Read again now and then, so that a link that has ended says so by itself. */
const LINK_EVERY_MS = 10_000;

export function Shell({ theme }: { theme: Theme }) {
  const words = useWords();
  const title = theme.title === '' ? words.title : theme.title;
  return (
    <SiteNameContext.Provider value={title}>
      <Opened theme={theme} title={title} />
    </SiteNameContext.Provider>
  );
}

function Opened({ theme, title }: { theme: Theme; title: string }) {
  const session = useSession();
  const { problem } = useWords();
  usePageTitle();
  return (
    <ServiceWatch>
      <Frame
        theme={theme}
        title={title}
        hasNav={session === 'held'}
        height={isEmbedded ? 'min-h-[30rem]' : 'min-h-dvh'}
      >
        {session === 'none' && <Note title={problem.noToken} text={problem.noTokenText} />}
        {session === 'ended' && <Note title={problem.ended} text={problem.endedText} />}
        {session === 'held' && <OpenLink />}
      </Frame>
    </ServiceWatch>
  );
}

const Note = ({ title, text }: { title: string; text: string }) => (
  <section role="alert" className="mx-auto my-16 grid max-w-[50ch] gap-2 text-center">
    <h2 className="text-lg">{title}</h2>
    <p className="text-base text-muted">{text}</p>
  </section>
);

function OpenLink() {
  const words = useWords();
  const link = useQuery({
    queryKey: ['link'],
    queryFn: () => api.portal.getLink(),
    refetchInterval: LINK_EVERY_MS,
  });
  const project = new URLSearchParams(location.search).get('project');
  return (
    <QueryView query={link}>
      {(data) =>
        project !== null && project !== data.project_id ? (
          <ErrorPanel title={words.problem.ended} text={words.problem.otherProject} />
        ) : (
          <LinkContext.Provider value={data}>
            <Page />
          </LinkContext.Provider>
        )
      }
    </QueryView>
  );
}

function Page() {
  const { page, id, filters } = usePlace();
  const { pages } = useWords();
  if (page === 'deliveries' && id !== undefined) return <DeliveryPage key={id} id={id} />;
  if (page === 'deliveries') return <Named name={pages.deliveries} page={<Deliveries filters={filters} />} />;
  if (page === 'types') return <Named name={pages.eventTypes} page={<EventTypes />} />;
  if (page === 'numbers') return <Named name={pages.numbers} page={<Numbers />} />;
  if (page === 'verify') return <Named name={pages.verify} page={<Verify chosen={id} />} />;
  if (id !== undefined) return <EndpointPage key={id} id={id} />;
  return <Named name={pages.endpoints} page={<Endpoints />} />;
}

/** A page whose name is on its tab. Its heading is for the title of the window and for screen readers. */
function Named({ name, page }: { name: string; page: ReactNode }) {
  usePageTitle();
  return (
    <>
      <h2 className="sr-only" data-page-title>
        {name}
      </h2>
      {page}
    </>
  );
}
