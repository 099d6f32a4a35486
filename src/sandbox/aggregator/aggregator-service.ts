import { encodeFunctionData, type Hex } from 'viem'
import { accountOf, fundedAccount } from '../evm/deploy.ts'
import type { Chain } from '../evm/evm-chain.ts'
import { sendOrThrow } from '../evm/sender.ts'
import type { Faults } from '../faults.ts'
import { startJsonServer } from '../http/json-server.ts'
import type { During } from '../keep/gate.ts'
import type { SandboxLog } from '../log.ts'
import type { AggregatorSettings, AllSettings } from '../options.ts'
import { repeat } from '../repeat.ts'
import { type Accounts, type AccountsState, createAccounts } from './account/accounts.ts'
import { type BatcherState, createBatcher } from './batch/batcher.ts'
import { type AggregatedCall, type Call, type CallStore, createCallStore } from './batch/calls.ts'
import { createIntake, type Intake } from './batch/intake.ts'
import {
  createParticipants,
  createTraffic,
  executeForeignBatch,
  hostileCall,
} from './batch/participants.ts'
import { createSponsor } from './batch/sponsor.ts'
import { gasTankBalanceOfAbi } from './chain/abi.ts'
import {
  type AggregatorDeployment,
  type AggregatorDeploymentRecord,
  deployAggregatorContracts,
  recordAggregatorDeployment,
  resumeAggregatorDeployment,
} from './chain/deploy.ts'
import { aggregatorAdminRoutes } from './rpc/admin-routes.ts'
import { exampleTransaction } from './rpc/openrpc.ts'
import { createAggregatorService, internalFailure } from './rpc/service.ts'

/** Keys, accounts and a batch that exist before the service starts. */
type Setup = {
  readonly operatorKey: Hex
  readonly participants: readonly Hex[]
  /** Hash of a batch that contains only participants' calls. */
  readonly foreignBatch: Hex
}

/** A snapshot of the service without its chain. Another service can resume from it. */
export type AggregatorState = Setup & {
  readonly deployment: AggregatorDeploymentRecord
  readonly accounts: AccountsState
  readonly calls: readonly Call[]
  readonly batcher: BatcherState
}

type AggregatorParts = {
  readonly chain: Chain
  readonly faults: Faults
  readonly during: During
  readonly log: SandboxLog
  /** State of the service to resume, on the same chain. */
  readonly former: AggregatorState | undefined
}

const TICK_MS = 25
const OPERATOR_WEI = 100n * 10n ** 18n

/** Deploys or resumes the contracts and starts the service. Pushes a function that ends each part onto `undo`. */
export async function startAggregator(
  { aggregator: settings, ports }: AllSettings,
  deps: AggregatorParts,
  undo: (() => Promise<void>)[],
) {
  const { chain, faults, during, log, former } = deps
  const { rpc } = chain
  const { deployment, ...setup } = await setUp(settings, deps)
  const { contracts, relayer } = deployment
  const { participants, foreignBatch } = setup

  const { gasTank, demoTarget } = contracts
  const accounts = createAccounts({ rpc, gasTank }, settings.indexingDelay, former?.accounts)
  const store = createCallStore(former?.calls)
  const [stranger = relayer.address] = participants
  const batcher = createBatcher(
    settings,
    {
      rpc,
      contracts,
      relayer,
      accounts,
      log,
      hostileCall: () => hostileCall(stranger, demoTarget),
    },
    former && batcherOf(former.batcher, store),
  )
  const sponsor = createSponsor({ rpc, relayer, accounts })
  for (const call of store.all())
    if (call.work.kind === 'delegation' && call.progress.state === 'queued') sponsor.add(call)
  const settleNow = createSettlement(deployment, accounts)
  const settle = (): Promise<Hex | undefined> => during(settleNow)
  const { every: everyMs, patience: patienceMs } = settings.traffic
  const traffic = createTraffic({ participants, demoTarget, batcher, accounts, patienceMs })
  const work = async (): Promise<void> => {
    await sponsor.tick(Date.now())
    await batcher.tick(Date.now())
  }
  undo.push(repeat(TICK_MS, () => during(work), log))
  if (everyMs > 0) undo.push(repeat(everyMs, () => during(traffic), log))
  if (settings.settleEvery > 0) undo.push(repeat(settings.settleEvery, settle, log))

  const common = { rpc, contracts, accounts, store, batcher, faults }
  const take = createIntake({ ...common, settings, sponsor, relayer: relayer.address })
  const intake: Intake = (raw, earliestBlock) => during(() => take(raw, earliestBlock))
  const example = await exampleTransaction(settings.chainId)
  const server = await startJsonServer({
    name: 'aggregator',
    port: ports.aggregator,
    handle: createAggregatorService(settings, { ...common, intake, foreignBatch, example }),
    onCrash: internalFailure,
    pageMethods: 'GET, POST',
    log,
  })
  undo.push(() => server.stop())
  return {
    url: server.url,
    contracts,
    /** Account for a daemon: funded, without code or deposit. */
    operator: accountOf(setup.operatorKey),
    outage: server.outage,
    adminRoutes: aggregatorAdminRoutes({ rpc, deployment, store, settle }),
    state: (): AggregatorState => ({
      ...setup,
      deployment: recordAggregatorDeployment(deployment),
      accounts: accounts.state(),
      calls: [...store.all()],
      batcher: batcher.state(),
    }),
  }
}

/** Deploys the contracts and funds the accounts, or resumes both. */
async function setUp(
  settings: AggregatorSettings,
  { chain: { rpc }, former }: AggregatorParts,
): Promise<Setup & { readonly deployment: AggregatorDeployment }> {
  if (former !== undefined) {
    const { operatorKey, participants, foreignBatch } = former
    const deployment = await resumeAggregatorDeployment(rpc, former.deployment)
    return { deployment, operatorKey, participants, foreignBatch }
  }
  const deployment = await deployAggregatorContracts(rpc, settings)
  const { privateKey: operatorKey } = await fundedAccount(rpc, OPERATOR_WEI)
  const participants = await createParticipants(deployment, {
    chainId: settings.chainId,
    count: settings.traffic.participants,
  })
  const foreignBatch = await executeForeignBatch(deployment, participants)
  return { deployment, operatorKey, participants, foreignBatch }
}

/**
 * Restores the identity of calls: a customer's call must be the same object in store and queue. The store has no
 * participants' calls.
 */
function batcherOf({ queue, doubles, batches }: BatcherState, store: CallStore): BatcherState {
  const known = (call: AggregatedCall): AggregatedCall => {
    const entered = store.get(call.hash)
    return entered?.work.kind === 'aggregated' ? (entered as AggregatedCall) : call
  }
  return { queue: queue.map(known), doubles: doubles.map(known), batches }
}

/**
 * Settles all outstanding charges. A GasTank with `charge` pays them in one transaction, and its hash is returned. With the
 * other generation only the service's own balances change.
 */
function createSettlement(
  { contracts, gasTank, relayer }: AggregatorDeployment,
  accounts: Accounts,
): () => Promise<Hex | undefined> {
  let running: Promise<Hex | undefined> | undefined
  const settle = async (): Promise<Hex | undefined> => {
    const charges = accounts.outstanding()
    if (charges.length === 0) return undefined
    const call = { abi: gasTankBalanceOfAbi, functionName: 'charge', args: [charges] } as const
    const receipt =
      gasTank === 'balanceOf'
        ? await sendOrThrow(relayer, 'settling charges', {
            to: contracts.gasTank,
            data: encodeFunctionData(call),
          })
        : undefined
    accounts.settled(charges)
    return receipt?.transactionHash
  }
  return () => {
    // Two runs at once would settle the same charges twice.
    running ??= settle().finally(() => {
      running = undefined
    })
    return running
  }
}
