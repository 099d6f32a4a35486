import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'

/**
 * What takes long, of which something shorter shows the gist: `npm run test:long` and CI run it. Programs that are started and
 * killed, simulated days, and searches through many inputs.
 */
export const LONG = [
  'test/crash/**',
  'test/e2e/!(commands|init|loose-start).test.ts',
  'test/golden/{days,seeds}.test.ts',
  'test/property/{backtest-*,calendar,calendar-agenda,caps,cron-days,feed-rounds}.test.ts',
  'test/property/simulated-{faults,limits,year}.test.ts',
  'test/scenario/call/{call-crash-points,call-limits,call-manual-resolution,call-routes,call-trusted}.test.ts',
  'test/scenario/machine/{clock-jumps,clocks,comparison,congestion,first-seen}.test.ts',
  'test/scenario/machine/{lying-node,rollback,signer,swapped-code}.test.ts',
  'test/scenario/strategy/{cap-waits,caps}.test.ts',
  'test/scenario/swap/{crash-points,manual-resolution}.test.ts',
  'test/contract/{aggregator/gas-tank,chain/refusing-node}.test.ts',
  'test/contract/gasless/{gasless-described,gasless-sandbox}.test.ts',
  'test/contract/sandbox/sandbox-{aggregator-accounts,aggregator-bursts,aggregator-trustless,blobs,evm,keep}.test.ts',
  'test/unit/{ui/page/page-large,cli/init/module-types,sandbox/sandbox-contracts}.test.ts',
  'test/unit/{backtest/price-files/chain-rounds,signing/keys/keystore,store/segments}.test.ts',
  'test/unit/extending/*.test.ts',
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
  'stack/pm2.',
  'stack/clock',
  'stack/typed-commands',
  'stack/page-access',
  'stack/pm2-machine',
  'stack/container',
  'stack/backtest-page',
  'stack/package',
  'stack/alert-rules',
  'property/simulated-faults',
  'property/simulated-year',
  'page/page-large',
  'unit/extending',
  'e2e/reconciled',
  'e2e/backtest-replay',
  'e2e/aggregator-setup',
  'e2e/benchmarks',
  'e2e/rollback',
  'e2e/settling',
  'e2e/',
  'crash/',
  'golden/',
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
    include: ['test/{unit,golden,property,contract,scenario,crash,e2e}/**/*.test.ts'],
    exclude: LONG,
    globalSetup: ['test/support/no-survivors.ts'],
    pool: 'forks',
    // Simulations make garbage faster than a young generation of 16 MiB takes it.
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
