import type { Fees } from '../../../../adapters/chain/fees.ts'
import {
  type GasLimits,
  gweiText,
  TRANSACTION_GAS,
  withinGasLimits,
} from '../../../../domain/gas.ts'
import type { ChainSettings } from '../../../../domain/settings.ts'
import { type Check, fine, warning } from '../check.ts'

/** What an approval, a wrapping or a deposit takes, with room. */
const GAS = 4n * TRANSACTION_GAS
/** A limit that many times above what the chain asks for bounds little. */
const WIDE = 100n

/** What a chain asks for gas now, against what the config allows (`chains.*.gas`). */
export function judgeGas(
  { name, gas: limits }: Pick<ChainSettings, 'name' | 'gas'>,
  fees: Fees,
): Check {
  const { baseFeePerGas, maxPriorityFeePerGas } = fees
  const asks = baseFeePerGas + maxPriorityFeePerGas
  const says = `${name}: gas costs ${gweiText(asks)}, ${gweiText(maxPriorityFeePerGas)} of it a tip`
  const key = `chains.${name}.gas`
  const asked = { ...fees, gas: GAS, maxFeePerGas: 2n * baseFeePerGas + maxPriorityFeePerGas }
  const allowed = withinGasLimits(limits, asked, 0n)
  if (!allowed.ok)
    return warning(
      'gas-limits',
      `${says}; ${allowed.why.replace('chains.*.gas', key)}`,
      `no approval, wrapping or deposit is made before gas is cheaper: raise the limit in \`${key}\``,
    )
  if (maxPriorityFeePerGas > limits.maxPriorityFeePerGas)
    return warning(
      'gas-limits',
      `${says}; ${key}.maxPriorityFeePerGas allows ${gweiText(limits.maxPriorityFeePerGas)}`,
      `transactions may wait long for a block: raise \`${key}.maxPriorityFeePerGas\``,
    )
  return fine('gas-limits', `${says}; ${limitText(limits, asks)}`)
}

/** A wide limit is no trouble: the chain may become dearer. */
function limitText({ maxFeePerGas }: GasLimits, asks: bigint): string {
  const text = `up to ${gweiText(maxFeePerGas)} is allowed`
  if (asks === 0n || maxFeePerGas < asks * WIDE) return text
  return `${text}, ${maxFeePerGas / asks} times that, which a node that lies could have paid`
}
