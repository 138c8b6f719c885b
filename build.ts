/** Builds dist/: the compiled packages, the roles, and the workflow bundle that workers load. */
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';

rmSync('dist', { recursive: true, force: true });
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
cpSync('roles', 'dist/roles', { recursive: true });
