export { EndpointList } from './endpoint-list.tsx';
export { EndpointPage } from './endpoint-page.tsx';
