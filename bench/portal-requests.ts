/**
 * The requests that an open page of the portal repeats, and after how many seconds. A test of the real page in a browser
 * fails if the page does not make one of them (test/web/portal-links.ts).
 */
export type PortalRequest = readonly [path: string, everySeconds: number];

const LINK: PortalRequest = ['/portal_link', 10];
const ENDPOINTS: PortalRequest = ['/endpoints?perPage=100&sort=ASC', 10];
const DAY: PortalRequest = ['/endpoints/period-failure-rates?endpointId={endpoint}&startDate={date}', 10];
const FAILURES: PortalRequest = ['/failures', 10];

export const PORTAL_PAGES: readonly (readonly PortalRequest[])[] = [
  [LINK, ENDPOINTS, DAY, FAILURES],
  [
    LINK,
    ['/endpoints/{endpoint}', 10],
    DAY,
    FAILURES,
    ['/eventdeliveries/countbatchretryevents?endpointId={endpoint}&status=Failure', 10],
    ['/eventdeliveries?perPage=8&endpointId={endpoint}', 5],
  ],
  [LINK, ENDPOINTS, ['/eventdeliveries?perPage=50', 10]],
  [LINK, ['/eventdeliveries/{delivery}', 10]],
  [LINK, ENDPOINTS, ['/timeseries?startDate={date}&step=day', 30]],
];
