/** Prints `N passed, N failed` from vitest's report; ends with 1 when anything failed. */
import { readFileSync } from 'node:fs';

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

const [path = '', failedSteps = '0', testsExit = '0'] = process.argv.slice(2);
const report = readReport(path);
const unreadable = report.testResults.filter(
  ({ status, assertionResults }) =>
    status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
).length;
let failed = report.numFailedTests + unreadable + Number(failedSteps);
// The tests passed, but not their run: an error outside of any test, or no report at all.
if (failed === 0 && testsExit !== '0') failed = 1;
console.log(`${report.numPassedTests} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function readReport(path: string): Report {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, testResults: [] };
  }
}
