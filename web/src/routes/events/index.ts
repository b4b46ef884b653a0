export { EventList } from './event-list.tsx';
export { EventPage } from './event-page.tsx';
