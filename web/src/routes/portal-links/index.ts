export { PortalLinks } from './portal-links.tsx';
