import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
} from '@tanstack/react-router';
import { lastProject, useMe } from '../data/project.ts';
import { ProblemView } from '../parts/query-view.tsx';
import { SignIn } from '../routes/sign-in/sign-in.tsx';
import { EmptyState, Skeleton } from '../ui/page/states.tsx';
import { Shell } from './shell.tsx';

const root = createRootRoute({ notFoundComponent: NoPage });
const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell });
const project = createRoute({ getParentRoute: () => shell, path: 'p/$project' });

type Load = () => Promise<Record<string, unknown>>;
const lazyPage = (load: Load, name: string) => lazyRouteComponent(load as never, name as never);

/** A page of a project, loaded when it is opened. With a detail it is a list, and a row opens next to it. */
function page(path: string, load: Load, [list, detail]: [list: string, detail?: string]) {
  const route = createRoute({ getParentRoute: () => project, path, component: lazyPage(load, list) });
  if (detail === undefined) return route;
  return route.addChildren([
    createRoute({ getParentRoute: () => route, path: '$id', component: lazyPage(load, detail) }),
  ]);
}

const people = () => import('../routes/people/index.ts');

const pages = [
  page('overview', () => import('../routes/overview/index.ts'), ['Overview']),
  page('failures', () => import('../routes/failures/index.ts'), ['Failures']),
  page('events', () => import('../routes/events/index.ts'), ['EventList', 'EventPage']),
  page('deliveries', () => import('../routes/deliveries/index.ts'), ['DeliveryList', 'DeliveryPage']),
  page('jobs', () => import('../routes/jobs/index.ts'), ['JobList', 'JobPage']),
  page('endpoints', () => import('../routes/endpoints/index.ts'), ['EndpointList', 'EndpointPage']),
  page('subscriptions', () => import('../routes/subscriptions/index.ts'), [
    'SubscriptionList',
    'SubscriptionPage',
  ]),
  page('sources', () => import('../routes/sources/index.ts'), ['SourceList', 'SourcePage']),
  page('event-types', () => import('../routes/event-types/index.ts'), ['EventTypes']),
  page('devices', () => import('../routes/devices/index.ts'), ['Devices']),
  page('portal-links', () => import('../routes/portal-links/index.ts'), ['PortalLinks']),
  page('portal-page', () => import('../routes/portal-theme/index.ts'), ['PortalThemePage']),
  page('meta-events', () => import('../routes/meta-events/index.ts'), ['MetaEventList', 'MetaEventPage']),
  page('audit', () => import('../routes/audit/index.ts'), ['AuditList', 'AuditPage']),
  page('people', people, ['People']),
  page('keys', () => import('../routes/keys/index.ts'), ['Keys']),
  page('settings', () => import('../routes/settings/index.ts'), ['Settings']),
  page('customers/$id', () => import('../routes/customers/index.ts'), ['Customer']),
];

const instance = () => import('../routes/instance/index.ts');

const tree = root.addChildren([
  createRoute({ getParentRoute: () => root, path: 'sign-in', component: SignIn }),
  shell.addChildren([
    createRoute({ getParentRoute: () => shell, path: '/', component: Home }),
    project.addChildren(pages),
    createRoute({
      getParentRoute: () => shell,
      path: 'instance/projects',
      component: lazyPage(instance, 'Projects'),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: 'instance/people',
      component: lazyPage(people, 'Accounts'),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: 'account',
      component: lazyPage(() => import('../routes/account/index.ts'), 'Account'),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: 'instance/nodes',
      component: lazyPage(instance, 'Nodes'),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: 'instance/audit',
      component: lazyPage(instance, 'InstanceAudit'),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: 'instance/settings',
      component: lazyPage(instance, 'InstanceSettings'),
    }),
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
  defaultPendingComponent: () => (
    <div className="p-4">
      <Skeleton label="Loading the page" />
    </div>
  ),
  defaultErrorComponent: ({ error }) => (
    <div className="p-4">
      <ProblemView error={error} />
    </div>
  ),
});

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
