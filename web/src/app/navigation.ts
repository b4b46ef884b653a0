import { type Operation, useMay } from '../data/may.ts';

/** A page, and the operation without which it has nothing to show. Without one all roles may see it. */
type ProjectPage = readonly [path: string, name: string, needs?: Operation];

/** The pages of a project, in groups. The first needs no name. */
const NAVIGATION: readonly (readonly [group: string, pages: readonly ProjectPage[]])[] = [
  [
    '',
    [
      ['overview', 'Overview'],
      ['failures', 'Failures'],
      ['customers', 'Customers'],
    ],
  ],
  [
    'Traffic',
    [
      ['events', 'Events'],
      ['deliveries', 'Deliveries'],
      ['jobs', 'Jobs'],
    ],
  ],
  [
    'Setup',
    [
      ['endpoints', 'Endpoints'],
      ['subscriptions', 'Subscriptions'],
      ['sources', 'Sources'],
      ['event-types', 'Event types'],
      ['devices', 'Devices', 'listDevices'],
      ['portal-links', 'Portal links', 'listPortalLinks'],
      ['portal-page', 'Portal page', 'updateProject'],
    ],
  ],
  [
    'History',
    [
      ['meta-events', 'Meta events'],
      ['audit', 'Audit log', 'listAudit'],
    ],
  ],
  [
    'Project',
    [
      ['people', 'People', 'listPeople'],
      ['keys', 'API keys', 'listKeys'],
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

export const INSTANCE_PAGES: readonly (readonly [path: string, name: string])[] = [
  ['/instance/projects', 'Projects'],
  ['/instance/people', 'People'],
  ['/instance/nodes', 'Nodes'],
  ['/instance/audit', 'Audit log'],
  ['/instance/settings', 'Settings'],
];
