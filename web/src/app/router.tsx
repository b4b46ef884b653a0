import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
} from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { lastProject, useMe } from '../data/project.ts';
import { loadPart, useAwaySince, whenBack } from '../data/service/service.ts';
import { ProblemView } from '../parts/query-view.tsx';
import { ServiceWatch } from '../parts/service-watch.tsx';
import { SiteContext } from '../parts/site.ts';
import { SignIn } from '../routes/sign-in/sign-in.tsx';
import { PageHead } from '../ui/page/section.tsx';
import { EmptyState, Skeleton } from '../ui/page/states.tsx';
import { useDashboardSite } from './dashboard-site.ts';
import { Shell } from './shell.tsx';

const root = createRootRoute({ component: Root, notFoundComponent: NoPage });
const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell });
const project = createRoute({ getParentRoute: () => shell, path: 'p/$project' });

/** Where a page is, and its name there. It is loaded when it is opened. */
type Load = [file: () => Promise<Record<string, unknown>>, name: string];
const lazyPage = ([file, name]: Load) => lazyRouteComponent((() => loadPart(file)) as never, name as never);

/** A page of a project. With a detail it is a list, and a row opens next to it. */
function page(path: string, list: Load, detail?: Load) {
  const route = createRoute({ getParentRoute: () => project, path, component: lazyPage(list) });
  if (detail === undefined) return route;
  return route.addChildren([
    createRoute({ getParentRoute: () => route, path: '$id', component: lazyPage(detail) }),
  ]);
}

const pages = [
  page('overview', [() => import('../routes/overview/overview.tsx'), 'Overview']),
  page('failures', [() => import('../routes/failures/failures.tsx'), 'Failures']),
  page(
    'events',
    [() => import('../routes/events/event-list.tsx'), 'EventList'],
    [() => import('../routes/events/event-page.tsx'), 'EventPage'],
  ),
  page(
    'deliveries',
    [() => import('../routes/deliveries/delivery-list.tsx'), 'DeliveryList'],
    [() => import('../routes/deliveries/delivery-page.tsx'), 'DeliveryPage'],
  ),
  page(
    'jobs',
    [() => import('../routes/jobs/job-list.tsx'), 'JobList'],
    [() => import('../routes/jobs/job-page.tsx'), 'JobPage'],
  ),
  page(
    'endpoints',
    [() => import('../routes/endpoints/endpoint-list.tsx'), 'EndpointList'],
    [() => import('../routes/endpoints/endpoint-page.tsx'), 'EndpointPage'],
  ),
  page(
    'subscriptions',
    [() => import('../routes/subscriptions/subscription-list.tsx'), 'SubscriptionList'],
    [() => import('../routes/subscriptions/subscription-page.tsx'), 'SubscriptionPage'],
  ),
  page(
    'sources',
    [() => import('../routes/sources/source-list.tsx'), 'SourceList'],
    [() => import('../routes/sources/source-page.tsx'), 'SourcePage'],
  ),
  page('event-types', [() => import('../routes/event-types/event-types.tsx'), 'EventTypes']),
  page('devices', [() => import('../routes/devices/devices.tsx'), 'Devices']),
  page('portal-links', [() => import('../routes/portal-links/portal-links.tsx'), 'PortalLinks']),
  page('portal-page', [() => import('../routes/portal-theme/portal-theme.tsx'), 'PortalThemePage']),
  page(
    'meta-events',
    [() => import('../routes/meta-events/meta-event-list.tsx'), 'MetaEventList'],
    [() => import('../routes/meta-events/meta-event-page.tsx'), 'MetaEventPage'],
  ),
  page(
    'audit',
    [() => import('../routes/audit/audit-list.tsx'), 'AuditList'],
    [() => import('../routes/audit/audit-page.tsx'), 'AuditPage'],
  ),
  page('people', [() => import('../routes/people/people.tsx'), 'People']),
  page('keys', [() => import('../routes/keys/keys.tsx'), 'Keys']),
  page('settings', [() => import('../routes/settings/settings.tsx'), 'Settings']),
  page('customers', [() => import('../routes/customers/customers.tsx'), 'Customers']),
  page('customers/$id', [() => import('../routes/customers/customer.tsx'), 'Customer']),
];

/** A page that belongs to no project. */
const loose = (path: string, load: Load) =>
  createRoute({ getParentRoute: () => shell, path, component: lazyPage(load) });

const tree = root.addChildren([
  createRoute({ getParentRoute: () => root, path: 'sign-in', component: SignIn }),
  shell.addChildren([
    createRoute({ getParentRoute: () => shell, path: '/', component: Home }),
    project.addChildren(pages),
    loose('instance/projects', [() => import('../routes/instance/projects.tsx'), 'Projects']),
    loose('instance/people', [() => import('../routes/people/accounts.tsx'), 'Accounts']),
    loose('account', [() => import('../routes/account/account.tsx'), 'Account']),
    loose('instance/nodes', [() => import('../routes/instance/nodes.tsx'), 'Nodes']),
    loose('instance/audit', [() => import('../routes/instance/instance-audit.tsx'), 'InstanceAudit']),
    loose('instance/settings', [
      () => import('../routes/instance/instance-settings.tsx'),
      'InstanceSettings',
    ]),
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  // Filters are plain strings in the address.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(search as Record<string, string>).toString();
    return text === '' ? '' : `?${text}`;
  },
  defaultPendingComponent: Pending,
  defaultErrorComponent: Fault,
});

function Root() {
  return (
    <SiteContext.Provider value={useDashboardSite()}>
      <ServiceWatch className="flex h-dvh flex-col overflow-auto">
        <div className="min-h-0 flex-1">
          <Outlet />
        </div>
      </ServiceWatch>
    </SiteContext.Provider>
  );
}

/** A page whose files are on their way. */
function Pending() {
  return <NotLoaded other={<Skeleton label="Loading the page" />} />;
}

/** A page that has failed. A part of it that could not be loaded is there when the service is back. */
function Fault({ error }: { error: unknown }) {
  useEffect(() => whenBack(() => location.reload()), []);
  return <NotLoaded other={<ProblemView error={error} />} />;
}

/** In place of a page that is not there: while the service is away it says so. */
function NotLoaded({ other }: { other: ReactNode }) {
  const isAway = useAwaySince() !== undefined;
  return (
    <div className="p-4">
      {isAway ? (
        <>
          <PageHead title="This page is not loaded yet" />
          <p className="max-w-[75ch] text-muted">
            It opens by itself when Posthorn answers again. Pages that you opened before are still there.
          </p>
        </>
      ) : (
        other
      )}
    </div>
  );
}

/** The overview of the project that was used last. */
function Home() {
  const { projects } = useMe();
  const last = projects.find(({ uid }) => uid === lastProject()) ?? projects[0];
  if (last !== undefined) return <Navigate to={`/p/${last.uid}/overview` as never} replace />;
  return (
    <div className="p-4">
      <EmptyState
        title="No project"
        text="You have no role in any project yet. Ask an administrator for one."
      />
    </div>
  );
}

function NoPage() {
  return (
    <main className="p-4">
      <EmptyState title="No such page" text="The address may be old. Start from the overview.">
        <a href="/" className="link">
          Overview
        </a>
      </EmptyState>
    </main>
  );
}
