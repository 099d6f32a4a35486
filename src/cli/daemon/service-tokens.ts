import type { Log } from '../../adapters/tell/log.ts'
import { OperatorError } from '../../domain/errors.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Gasless } from '../../ports.ts'

/** The config and the service disagree on a token; trading on would misread every amount of it. */
class TokenMismatchError extends OperatorError {
  override readonly name = 'TokenMismatchError'
  readonly means = 'badConfig'
}

/**
 * Holds the config's tokens against the service's list: a wrong number of decimals stops the start, a token that is
 * not listed is a warning (its quotes will be rejected). An unreachable service is left to the quotes themselves.
 */
export async function checkServiceTokens(
  gasless: Pick<Gasless, 'tokens'>,
  settings: Settings,
  log: Log,
): Promise<void> {
  const reply = await gasless.tokens()
  if (!reply.ok)
    return log.warn(`the service's token list could not be read: ${reply.fault.message}`)
  const listed = new Map(reply.value.map((token) => [token.address, token]))
  for (const token of settings.tokens.values()) {
    if (token.chain !== settings.gasless.chain) continue
    const known = listed.get(token.address)
    if (known === undefined) log.warn(`the service does not list token ${token.symbol}`)
    else if (known.decimals !== token.decimals)
      throw new TokenMismatchError(
        `${settings.file}: tokens.${token.symbol}.decimals is ${token.decimals}, the service says ${known.decimals}: correct it`,
      )
  }
}
