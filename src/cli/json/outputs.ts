import type * as z from 'zod'
import * as account from './account-outputs.ts'
import * as author from './author-outputs.ts'
import * as played from './backtest-outputs.ts'
import * as inspect from './inspect-outputs.ts'
import * as money from './money-outputs.ts'
import * as operate from './operate-outputs.ts'
import * as state from './state-outputs.ts'

/** Output of a command under `--json`, besides the common failure: one of these objects, by case. `lines`: as JSON Lines. */
export type Output = {
  readonly shapes: Readonly<Record<string, z.ZodObject>>
  readonly lines?: true
  readonly note?: string
}

function prints(shape: z.ZodObject, more: Partial<Output> = {}): Output {
  return { shapes: { '': shape }, ...more }
}

function withFailure(shape: z.ZodObject): Output {
  return { shapes: { '': shape, 'if the wallet cannot be used': account.walletFailure } }
}

const IS_LAST = 'Printed when the run ends. Until then stdout is empty, and the log goes to stderr.'
const IS_FIRST = 'Printed once everything is up. The sandbox then runs on and prints nothing more.'
const LINES =
  'One entry per line (JSON Lines), or nothing if there are none; the same as `--format jsonl`. A failure is one object.'
const OF_LOOK = 'without `--as`'

/** Outputs by the name of each command that takes `--json`. */
export const OUTPUTS: Readonly<Record<string, Output>> = {
  run: prints(operate.run, { note: IS_LAST }),
  halt: { shapes: { '': operate.halt, 'if a state directory is not halted': operate.haltFailed } },
  pause: prints(operate.pause),
  resume: prints(operate.pause),
  approve: prints(operate.approve),
  trigger: prints(operate.trigger),
  sell: prints(operate.order),
  buy: prints(operate.order),
  reload: prints(operate.reload),
  settle: {
    shapes: {
      [OF_LOOK]: operate.settleShown,
      'with `--as`': operate.settleSettled,
      'if the declaration is refused': operate.settleRefused,
      'if the order is closed': operate.settleClosed,
    },
  },
  'notify test': prints(operate.notifyTest),
  validate: prints(inspect.validate),
  doctor: prints(inspect.doctor),
  status: prints(inspect.status),
  ps: prints(inspect.ps),
  plan: prints(inspect.plan),
  quote: prints(inspect.quote),
  history: prints(inspect.history),
  why: prints(inspect.why),
  report: { shapes: { '': money.report, 'with `--against-backtest`': money.drift } },
  export: prints(money.entry, { lines: true, note: LINES }),
  backtest: prints(played.backtestReport),
  'backtest fetch': prints(played.fetchReport),
  'backtest replay': prints(played.replayReport),
  init: prints(author.init),
  sandbox: prints(author.sandbox, { note: IS_FIRST }),
  'wallet new': withFailure(account.wallet),
  'wallet import': withFailure(account.wallet),
  'wallet address': withFailure(account.walletAddress),
  'gastank status': prints(account.gastankStatus),
  'gastank deposit': prints(account.gastankDeposit),
  'delegation status': prints(account.delegationStatus),
  'delegation set': prints(account.delegationChange),
  'delegation clear': prints(account.delegationChange),
  'approvals list': prints(account.approvalsList),
  'approvals revoke': prints(account.approvalsRevoke),
  'state verify': prints(state.verify),
  'state rebuild': prints(state.rebuild),
  'state backup': prints(state.backup),
  'state restore': prints(state.restore),
  'state new': prints(state.stateNew),
  'state accept-loss': prints(state.acceptLoss),
}
