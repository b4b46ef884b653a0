export { InstanceAudit } from './instance-audit.tsx';
export { Projects } from './projects.tsx';
