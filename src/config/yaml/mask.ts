import { KEY_SHAPED } from '../../domain/text/outside-text.ts'

/** What BotFather gives: the bot's number, and a secret. */
const BOT_TOKEN = /\b\d{5,20}:[\w-]{25,}/g
/** `token` as a key alone: sentences about tokens go on after a colon as well. */
const SECRET_NAMES =
  /\b((?:\w*(?:private_?key|password|passphrase|mnemonic|secret|seed|api_?key)|(?<=(?:^|\n)[ \t"'-]*|[{,][ \t]*["']?)token)["']?[ \t]*:[ \t]*)([|>][^\n]*(?:\n[ \t]+[^\n]*|\n[ \t]*(?=\n))*|"[^"\n]*"?|'[^'\n]*'?|[^\n,}]+)/gi
const WEB_ADDRESS = /[a-z][a-z0-9+.-]{0,19}:\/\/[^\s"'#]+/gi
const USER_INFO = /(?<=:\/\/)[^/@]+(?=@)/
/** Inside a web address: a variable (kept, it is only a name), the value of a query key, a long word. */
const ADDRESS_PARTS = /\$\{[^}]*\}|(?<==)[^&\s]+|[\w-]{16,}/g
const PRIVATE_KEY = /^(?:0x)?[0-9a-fA-F]{64}$/

/**
 * The same text with everything that may be a secret starred out: what may be a key, tokens of bots, values of
 * secret-sounding keys, credentials inside web addresses. Length and line breaks stay, so that carets still point at the right place.
 */
export function maskSecrets(text: string): string {
  return text
    .replace(SECRET_NAMES, (_, key: string, value: string) => key + stars(value))
    .replace(WEB_ADDRESS, maskAddress)
    .replace(KEY_SHAPED, stars)
    .replace(BOT_TOKEN, stars)
}

/** True for a value that is a private key and nothing else. */
export function isPrivateKey(text: string): boolean {
  return PRIVATE_KEY.test(text.trim())
}

function maskAddress(address: string): string {
  const open = address.replace(USER_INFO, stars)
  const pathStart = open.indexOf('/', open.indexOf('://') + 3)
  if (pathStart < 0) return open
  const parts = open
    .slice(pathStart)
    .replace(ADDRESS_PARTS, (part) => (part.startsWith('${') ? part : stars(part)))
  return open.slice(0, pathStart) + parts
}

function stars(text: string): string {
  return text.replace(/[^\r\n]/g, '*')
}
