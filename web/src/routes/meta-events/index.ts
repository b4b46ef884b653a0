export { MetaEventList } from './meta-event-list.tsx';
export { MetaEventPage } from './meta-event-page.tsx';
