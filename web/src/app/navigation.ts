/** The pages of a project, in groups. */
export const NAVIGATION: readonly (readonly [
  group: string,
  pages: readonly (readonly [path: string, name: string])[],
])[] = [
  [
    'Now',
    [
      ['overview', 'Overview'],
      ['failures', 'Failures'],
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
      ['portal-links', 'Portal links'],
      ['portal-page', 'Portal page'],
    ],
  ],
  [
    'Record',
    [
      ['meta-events', 'Meta events'],
      ['audit', 'Audit log'],
      ['people', 'People'],
      ['keys', 'API keys'],
      ['settings', 'Settings'],
    ],
  ],
];

export const INSTANCE_PAGES: readonly (readonly [path: string, name: string])[] = [
  ['/instance/projects', 'Projects'],
  ['/instance/people', 'People'],
  ['/instance/nodes', 'Nodes'],
  ['/instance/audit', 'Audit log'],
  ['/instance/settings', 'Settings'],
];
