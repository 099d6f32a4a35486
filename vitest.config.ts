import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'

/**
 * Stories that take tens of seconds each, of which a shorter one tells the gist: `npm run test:long`, and CI, live through them.
 */
export const LONG = [
  'test/property/{calendar,caps,simulated-limits,simulated-year}.test.ts',
  'test/scenario/call/call-crash-points.test.ts',
  'test/scenario/machine/{comparison,congestion,first-seen}.test.ts',
  'test/contract/{aggregator/gas-tank,gasless/gasless-described,gasless/gasless-sandbox}.test.ts',
  'test/contract/sandbox/{sandbox-aggregator-accounts,sandbox-aggregator-trustless,sandbox-evm,sandbox-keep}.test.ts',
  'test/crash/{call-kill,call-daemon-kill,call-races,daemon-proxy,journal,two-writers}.test.ts',
  'test/e2e/{accounts,aggregated-calls,aggregator-setup,approvals,backtest-replay,backtest-sweep,bad-files}.test.ts',
  'test/e2e/{benchmarks,canaries,control,debugger,disbelief,doctor}.test.ts',
  'test/e2e/{dishonest-quotes,embedded,faulty-nodes,halting,interrupted-start}.test.ts',
  'test/e2e/{dry-run,json-outputs,kept-sandbox,kill-switch,kinds,modules,piped,runway,version}.test.ts',
  'test/e2e/{never-filled,node-ahead,notifications,one-wallet,page}.test.ts',
  'test/e2e/{reconciled,refused-start,remote-control,rollback}.test.ts',
  'test/e2e/{gas-lies,sandbox-settings,service-faults,shared-settlements}.test.ts',
  'test/e2e/{settling,settling-calls,state,state-new}.test.ts',
  'test/e2e/{stopping,top-ups}.test.ts',
  'test/unit/{adapters/page/page-large,cli/init/module-types,sandbox/sandbox-contracts}.test.ts',
]

/** Long stories mostly wait, so more of them run at once. */
export const SIDE_BY_SIDE = { maxWorkers: 7 }

/**
 * Ends a test that hangs, and no other: a test that takes 15 s alone takes a minute on a busy machine. No test sets a
 * shorter bound of its own.
 */
export const HANGS_AFTER = { testTimeout: 300_000, hookTimeout: 300_000, teardownTimeout: 10_000 }

/** What takes longest begins first: what begins last must not be what the run then waits for. */
const LONGEST_FIRST = [
  'stack/pm2',
  'stack/container',
  'stack/page-access',
  'stack/readme',
  'stack/package',
  'property/simulated-faults',
  'property/simulated-year',
  'page/page-large',
  'e2e/reconciled',
  'e2e/backtest-replay',
  'e2e/aggregator-setup',
  'e2e/benchmarks',
  'e2e/rollback',
  'e2e/settling',
  'e2e/',
  'crash/',
  'property/simulated-',
  'state-lock',
  'keystore',
  'sandbox-contracts',
  'contract/',
  'property/',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST_FIRST.findIndex((part) => moduleId.includes(part))
      return at < 0 ? LONGEST_FIRST.length : at
    }
    return files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId))
  }
}

export default defineConfig({
  test: {
    include: ['test/{unit,property,contract,scenario,crash,e2e}/**/*.test.ts'],
    exclude: LONG,
    globalSetup: ['test/support/no-survivors.ts'],
    pool: 'forks',
    // Simulated worlds make garbage faster than a young generation of 16 MiB takes it.
    execArgv: ['--max-semi-space-size=64'],
    // Modules are loaded once a worker: nothing in src keeps state of its own, and loading took a fifth of the run.
    isolate: false,
    // More than cores, as some files mostly wait; each more loads all modules once more, which costs what the waiting saves.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    ...HANGS_AFTER,
    coverage: { include: ['src/**/*.ts'], reporter: ['text', 'html'] },
  },
})
