export { SourceList } from './source-list.tsx';
export { SourcePage } from './source-page.tsx';
