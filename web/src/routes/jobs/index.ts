export { JobList } from './job-list.tsx';
export { JobPage } from './job-page.tsx';
