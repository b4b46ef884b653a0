import { type Operation, useMay } from '../data/may.ts';

/** A page, and the operation without which it has nothing to show. Without one all roles may see it. */
type ProjectPage = readonly [path: string, name: string, needs?: Operation];

/** The pages of a project, those that are used most first. The first group needs no name. No two pages have one name. */
const NAVIGATION: readonly (readonly [group: string, pages: readonly ProjectPage[]])[] = [
  [
    '',
    [
      ['overview', 'Overview'],
      ['failures', 'Failures'],
      ['deliveries', 'Deliveries'],
      ['events', 'Events'],
      ['endpoints', 'Endpoints'],
      ['customers', 'Customers'],
    ],
  ],
  [
    'Setup',
    [
      ['subscriptions', 'Subscriptions'],
      ['sources', 'Sources'],
      ['event-types', 'Event types'],
      ['portal-links', 'Portal links', 'listPortalLinks'],
      ['portal-page', 'Portal page', 'updateProject'],
      ['devices', 'Devices', 'listDevices'],
    ],
  ],
  [
    'History',
    [
      ['jobs', 'Jobs'],
      ['meta-events', 'Meta events'],
      ['audit', 'Audit log', 'listAudit'],
    ],
  ],
  [
    'Project',
    [
      ['keys', 'API keys', 'listKeys'],
      ['people', 'People', 'listPeople'],
      ['settings', 'Settings'],
    ],
  ],
];

/** The pages that the reader may see. */
export function useNavigation(): typeof NAVIGATION {
  const may = useMay();
  return NAVIGATION.map(
    ([group, pages]) => [group, pages.filter(([, , needs]) => needs === undefined || may(needs))] as const,
  );
}

/** The pages of the instance, for its administrators. */
export const INSTANCE_PAGES: readonly (readonly [path: string, name: string])[] = [
  ['/instance/projects', 'Projects'],
  ['/instance/nodes', 'Nodes'],
  ['/instance/people', 'Accounts'],
  ['/instance/audit', 'Instance audit'],
  ['/instance/settings', 'Instance settings'],
];
