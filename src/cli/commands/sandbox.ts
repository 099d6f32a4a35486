import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { OperatorError } from '../../domain/errors.ts'
import { writeSandboxConfig } from '../../sandbox/config-out.ts'
import { faultsSchema } from '../../sandbox/faults.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../io.ts'

export type SandboxCommandOptions = {
  readonly configOut?: string
  readonly stateDir: string
  readonly strategiesDir: string
  readonly faults?: string
  readonly seed: number
  readonly httpPort?: number
  readonly forMs?: number | undefined
  readonly json?: boolean
}

/** `tranched sandbox`: the local chain and the services alone, until told to stop. */
export async function sandbox(options: SandboxCommandOptions, io: Io): Promise<ExitCode> {
  const faults = options.faults === undefined ? undefined : await readFaults(options.faults)
  const running = await startSandbox({ seed: options.seed, faults, anvilBin: io.env['ANVIL_BIN'] })
  try {
    const written =
      options.configOut === undefined
        ? undefined
        : await writeSandboxConfig({ ...options, sandbox: running, file: options.configOut })
    const report = {
      rpcUrl: running.rpcUrl,
      gaslessUrl: running.gaslessUrl,
      aggregatorUrl: running.aggregatorUrl,
      sepoliaRpcUrl: running.sepolia.rpcUrl,
      adminUrl: running.adminUrl,
      chainId: running.chainId,
      trader: running.trader.address,
      operator: running.operator.address,
      config: written?.file ?? null,
    }
    if (options.json) printJson(io, report)
    else io.stdout.write(textOf(report))
    io.signalReady()
    await untilStopped(options.forMs, io)
  } finally {
    await running.stop()
  }
  return EXIT.done
}

/** A faults file that cannot be used; the text names the file and what is wrong. */
class FaultsFileError extends OperatorError {
  override readonly name = 'FaultsFileError'
  readonly means = 'badConfig'
}

async function readFaults(file: string): Promise<unknown> {
  try {
    const faults: unknown = parse(await readFile(file, 'utf8'))
    const checked = faultsSchema.safeParse(faults)
    if (checked.success) return faults
    const [issue] = checked.error.issues
    const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `
    throw new Error(`${where}${issue?.message ?? 'not a faults file'}`)
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    throw new FaultsFileError(`${file}: ${detail} (docs/sandbox.md lists the faults)`)
  }
}

function textOf(report: Readonly<Record<string, string | number | null>>): string {
  const lines = Object.entries(report)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(14)} ${value}`)
  return `${lines.join('\n')}\n`
}

function untilStopped(forMs: number | undefined, io: Io): Promise<void> {
  return new Promise((resolve) => {
    const timer = forMs === undefined ? undefined : setTimeout(done, forMs)
    const offSignal = io.onSignal(done)
    function done(): void {
      clearTimeout(timer)
      offSignal()
      resolve()
    }
  })
}
