export { AuditList } from './audit-list.tsx';
export { AuditPage } from './audit-page.tsx';
