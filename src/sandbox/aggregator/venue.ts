import { randomBytes } from 'node:crypto'
import type { Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { AdminRoutes } from '../admin.ts'
import { startAnvil } from '../evm/anvil.ts'
import { mineBlocks } from '../evm/blocks.ts'
import { createRpc, type Rpc } from '../evm/rpc.ts'
import type { Faults } from '../faults.ts'
import { startInterruptibleServer } from '../http/interruptible-server.ts'
import type { SandboxLog } from '../log.ts'
import type { SandboxOptions } from '../options.ts'
import { repeat } from '../repeat.ts'
import { createAccounts } from './account/accounts.ts'
import { createSettlement } from './account/charges.ts'
import { createBatcher } from './batch/batcher.ts'
import { createCallBook } from './batch/calls.ts'
import { createIntake } from './batch/intake.ts'
import {
  createParticipants,
  createTraffic,
  executeForeignBatch,
  hostileCall,
} from './batch/participants.ts'
import { createSponsor } from './batch/sponsor.ts'
import { type AggregatorContracts, deployAggregatorContracts } from './chain/deploy.ts'
import { aggregatorAdminRoutes } from './rpc/admin-routes.ts'
import { createAggregatorService, internalFailure } from './rpc/service.ts'
import { type AggregatorSettings, aggregatorSettings } from './settings.ts'

/** The running aggregation service and its chain. */
export type AggregatorVenue = {
  readonly url: string
  readonly rpcUrl: string
  readonly genesisHash: Hex
  readonly evmPid: number
  readonly contracts: AggregatorContracts
  readonly settings: AggregatorSettings
  /** An account for a daemon: coin for gas and deposits, no code, nothing deposited yet. */
  readonly operator: { readonly address: Hex; readonly privateKey: Hex }
  /** Cuts all connections and refuses new ones for so long. */
  outage(ms: number): Promise<void>
  readonly adminRoutes: AdminRoutes
}

const TICK_MS = 25
const OPERATOR_BALANCE = 100n * 10n ** 18n

/** Starts the chain, the contracts and the service; pushes onto `undo` how to end each part. */
export async function startAggregator(
  options: SandboxOptions,
  deps: { readonly faults: Faults; readonly log: SandboxLog },
  undo: (() => Promise<void>)[],
): Promise<AggregatorVenue> {
  const { faults, log } = deps
  const settings = aggregatorSettings(options.aggregator)
  const anvil = await startAnvil({
    chainId: settings.chainId,
    bin: options.anvilBin,
    port: options.ports?.sepoliaRpc,
    log,
  })
  undo.push(() => anvil.stop())
  const rpc = createRpc(anvil.rpcUrl)
  undo.push(() => rpc.close())
  undo.push(mineBlocks(rpc, { everyMs: options.blockIntervalMs, log }))
  const genesis = await rpc.call<{ hash: Hex }>('eth_getBlockByNumber', ['0x0', false])
  const deployment = await deployAggregatorContracts(rpc, settings)
  const { contracts, relayer } = deployment
  const operator = await fundOperator(rpc, options.operatorKey)
  const participants = await createParticipants(deployment, {
    chainId: settings.chainId,
    count: settings.traffic.participants,
  })
  const foreignBatch = await executeForeignBatch(deployment, participants)

  const { gasTank, demoTarget } = contracts
  const accounts = createAccounts({ rpc, gasTank }, settings.indexingDelayMs)
  const book = createCallBook()
  const [stranger = relayer.address] = participants
  const batcher = createBatcher(settings, {
    ...{ rpc, contracts, relayer, accounts, log },
    hostileCall: () => hostileCall(stranger, demoTarget),
  })
  const sponsor = createSponsor({ rpc, relayer, accounts })
  const settle = createSettlement({ deployment, accounts })
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
  undo.push(repeat(TICK_MS, work, log))
  const { everyMs } = settings.traffic
  if (everyMs > 0) undo.push(repeat(everyMs, traffic, log))
  const settleCharges = async (): Promise<void> => {
    await settle()
  }
  if (settings.settleEveryMs > 0) undo.push(repeat(settings.settleEveryMs, settleCharges, log))

  const common = { rpc, contracts, accounts, book, batcher, faults }
  const intake = createIntake({ ...common, settings, sponsor, relayer: relayer.address })
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
    rpcUrl: anvil.rpcUrl,
    genesisHash: genesis.hash,
    evmPid: anvil.pid,
    contracts,
    settings,
    operator,
    outage: server.outage,
    adminRoutes: aggregatorAdminRoutes({ rpc, deployment, accounts, book, settle }),
  }
}

async function fundOperator(
  rpc: Rpc,
  givenKey: Hex | undefined,
): Promise<AggregatorVenue['operator']> {
  const privateKey = givenKey ?? `0x${randomBytes(32).toString('hex')}`
  const address = privateKeyToAddress(privateKey)
  await rpc.call('anvil_setBalance', [address, `0x${OPERATOR_BALANCE.toString(16)}`])
  return { address, privateKey }
}
