/**
 * The requests that an open page of the portal repeats, and after how many seconds. A test of the real page in a browser
 * fails if the page does not make one of them (test/web/portal/links.ts).
 */
export type PortalRequest = readonly [path: string, everySeconds: number];

const LINK: PortalRequest = ['/portal_link', 10];
const ENDPOINTS: PortalRequest = ['/endpoints?perPage=100&sort=ASC', 10];
const HEALTH: PortalRequest = ['/health?limit=1000&startDate={date}', 10];

export const PORTAL_PAGES: readonly (readonly PortalRequest[])[] = [
  [LINK, ENDPOINTS, HEALTH],
  [LINK, ['/endpoints/{endpoint}', 10], HEALTH, ['/eventdeliveries?perPage=8&endpointId={endpoint}', 5]],
  [LINK, ENDPOINTS, ['/eventdeliveries?perPage=50', 10]],
  [LINK, ['/eventdeliveries/{delivery}', 10]],
  [LINK, ENDPOINTS, ['/timeseries?startDate={date}&step=day', 30]],
];
