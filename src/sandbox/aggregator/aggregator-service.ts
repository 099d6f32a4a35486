import { randomBytes } from 'node:crypto'
import type { Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { AdminRoutes } from '../admin.ts'
import type { Chain } from '../evm/chain.ts'
import type { Rpc } from '../evm/rpc.ts'
import type { Faults } from '../faults.ts'
import { startInterruptibleServer } from '../http/interruptible-server.ts'
import type { During } from '../keep/gate.ts'
import type { SandboxLog } from '../log.ts'
import type { SandboxOptions } from '../options.ts'
import { repeat } from '../repeat.ts'
import { type AccountsState, createAccounts } from './account/accounts.ts'
import { createSettlement } from './account/charges.ts'
import { type BatcherState, createBatcher } from './batch/batcher.ts'
import { type AggregatedCall, type Call, type CallBook, createCallBook } from './batch/calls.ts'
import { createIntake, type Intake } from './batch/intake.ts'
import {
  createParticipants,
  createTraffic,
  executeForeignBatch,
  hostileCall,
} from './batch/participants.ts'
import { createSponsor } from './batch/sponsor.ts'
import {
  type AggregatorContracts,
  type AggregatorDeployment,
  type AggregatorDeploymentRecord,
  deployAggregatorContracts,
  recordAggregatorDeployment,
  resumeAggregatorDeployment,
} from './chain/deploy.ts'
import { aggregatorAdminRoutes } from './rpc/admin-routes.ts'
import { createAggregatorService, internalFailure } from './rpc/service.ts'
import { type AggregatorSettings, aggregatorSettings } from './settings.ts'

/** The running aggregation service and its chain. */
export type AggregatorVenue = {
  readonly url: string
  readonly chain: Chain
  readonly contracts: AggregatorContracts
  readonly settings: AggregatorSettings
  /** An account for a daemon: coin for gas and deposits, no code, nothing deposited yet. */
  readonly operator: { readonly address: Hex; readonly privateKey: Hex }
  /** Cuts all connections and refuses new ones for so long. */
  outage(ms: number): Promise<void>
  readonly adminRoutes: AdminRoutes
  state(): AggregatorState
}

/** What is on the service's chain from its beginning. */
type Ground = {
  readonly operatorKey: Hex
  /** Accounts of strangers. */
  readonly participants: readonly Hex[]
  /** A batch that holds calls of strangers only. */
  readonly foreignBatch: Hex
}

/** All of the service that its chain does not tell, so that another one can go on from there. */
export type AggregatorState = Ground & {
  readonly deployment: AggregatorDeploymentRecord
  readonly accounts: AccountsState
  readonly calls: readonly Call[]
  readonly batcher: BatcherState
}

export type AggregatorParts = {
  readonly chain: Chain
  readonly faults: Faults
  readonly during: During
  readonly log: SandboxLog
  /** What a service was at that this one goes on for, on the same chain. */
  readonly former: AggregatorState | undefined
}

const TICK_MS = 25
const OPERATOR_BALANCE = 100n * 10n ** 18n

/** Puts the contracts on the chain and starts the service; pushes onto `undo` how to end each part. */
export async function startAggregator(
  options: SandboxOptions,
  deps: AggregatorParts,
  undo: (() => Promise<void>)[],
): Promise<AggregatorVenue> {
  const { chain, faults, during, log, former } = deps
  const { rpc } = chain
  const settings = aggregatorSettings(options.aggregator)
  const { deployment, ...ground } = await layGround(options, settings, deps)
  const { contracts, relayer } = deployment
  const { participants, foreignBatch } = ground

  const { gasTank, demoTarget } = contracts
  const accounts = createAccounts({ rpc, gasTank }, settings.indexingDelayMs, former?.accounts)
  const book = createCallBook(former?.calls)
  const [stranger = relayer.address] = participants
  const batcher = createBatcher(
    settings,
    {
      ...{ rpc, contracts, relayer, accounts, log },
      hostileCall: () => hostileCall(stranger, demoTarget),
    },
    former && batcherOf(former.batcher, book),
  )
  const sponsor = createSponsor({ rpc, relayer, accounts })
  for (const call of book.all()) if (awaitsSponsor(call)) sponsor.add(call)
  const settleNow = createSettlement({ deployment, accounts })
  const settle = (): Promise<Hex | undefined> => during(settleNow)
  const traffic = createTraffic({
    ...settings.traffic,
    participants,
    demoTarget,
    batcher,
    accounts,
  })
  const work = async (): Promise<void> => {
    await sponsor.tick(Date.now())
    await batcher.tick(Date.now())
  }
  undo.push(repeat(TICK_MS, () => during(work), log))
  const { everyMs } = settings.traffic
  if (everyMs > 0) undo.push(repeat(everyMs, () => during(traffic), log))
  const settleCharges = async (): Promise<void> => {
    await settle()
  }
  if (settings.settleEveryMs > 0) undo.push(repeat(settings.settleEveryMs, settleCharges, log))

  const common = { rpc, contracts, accounts, book, batcher, faults }
  const take = createIntake({ ...common, settings, sponsor, relayer: relayer.address })
  const intake: Intake = (raw, earliestBlock) => during(() => take(raw, earliestBlock))
  const server = await startInterruptibleServer(
    {
      port: options.ports?.aggregator ?? 0,
      handle: createAggregatorService(settings, { ...common, intake, foreignBatch }),
      onCrash: (error) => {
        log('sandbox.handlerFailed', { server: 'aggregator', error: String(error) })
        return internalFailure()
      },
    },
    log,
  )
  undo.push(() => server.stop())
  return {
    url: server.url,
    chain,
    contracts,
    settings,
    operator: accountOf(ground.operatorKey),
    outage: server.outage,
    adminRoutes: aggregatorAdminRoutes({ rpc, deployment, accounts, book, settle }),
    state: () => ({
      ...ground,
      deployment: recordAggregatorDeployment(deployment),
      accounts: accounts.state(),
      calls: [...book.all()],
      batcher: batcher.state(),
    }),
  }
}

/** Makes what stays for as long as the chain, or finds it again. */
async function layGround(
  options: SandboxOptions,
  settings: AggregatorSettings,
  { chain: { rpc }, former }: AggregatorParts,
): Promise<Ground & { readonly deployment: AggregatorDeployment }> {
  if (former !== undefined) {
    const { operatorKey, participants, foreignBatch } = former
    const deployment = await resumeAggregatorDeployment(rpc, former.deployment)
    return { deployment, operatorKey, participants, foreignBatch }
  }
  const deployment = await deployAggregatorContracts(rpc, settings)
  const operatorKey = await fundOperator(rpc, options.operatorKey)
  const participants = await createParticipants(deployment, {
    chainId: settings.chainId,
    count: settings.traffic.participants,
  })
  const foreignBatch = await executeForeignBatch(deployment, participants)
  return { deployment, operatorKey, participants, foreignBatch }
}

/** A customer's call is one and the same in the book and in the queue; strangers' stand in no book. */
function batcherOf({ queue, doubles, batches }: BatcherState, book: CallBook): BatcherState {
  const known = (call: AggregatedCall): AggregatedCall => {
    const entered = book.get(call.hash)
    return entered !== undefined && isAggregated(entered) ? entered : call
  }
  return { queue: queue.map(known), doubles: doubles.map(known), batches }
}

function isAggregated(call: Call): call is AggregatedCall {
  return call.work.kind === 'aggregated'
}

function awaitsSponsor({ work, progress }: Call): boolean {
  return work.kind === 'delegation' && progress.state === 'queued'
}

async function fundOperator(rpc: Rpc, givenKey: Hex | undefined): Promise<Hex> {
  const privateKey: Hex = givenKey ?? `0x${randomBytes(32).toString('hex')}`
  const { address } = accountOf(privateKey)
  await rpc.call('anvil_setBalance', [address, `0x${OPERATOR_BALANCE.toString(16)}`])
  return privateKey
}

function accountOf(privateKey: Hex): AggregatorVenue['operator'] {
  return { address: privateKeyToAddress(privateKey), privateKey }
}
