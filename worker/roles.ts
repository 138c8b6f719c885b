export { type RoleFile, readRoleFile } from '../activities/roles/read-role-files.ts';
export { type KnownRole, readRoleCatalog } from '../activities/roles/role-catalog.ts';
