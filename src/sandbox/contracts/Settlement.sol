// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

interface IERC20 {
    function transfer(address to, uint256 amount) external returns (bool);
}

interface IPermit2 {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external;
}

/// @notice Settles signed orders from its own inventory. Permit2 verifies the owner's signature. Only this contract enforces
/// that the recipient gets at least the witness's minimum.
contract Settlement {
    struct OrderWitness {
        address recipient;
        address tokenOut;
        uint256 minAmountOut;
    }

    /// @param sellAmount amount taken from the owner, at most permit.permitted.amount
    /// @param buyAmount amount paid to the recipient, at least witness.minAmountOut
    struct Fill {
        address owner;
        IPermit2.PermitTransferFrom permit;
        OrderWitness witness;
        bytes signature;
        uint256 sellAmount;
        uint256 buyAmount;
    }

    string public constant WITNESS_TYPE_STRING =
        "OrderWitness witness)OrderWitness(address recipient,address tokenOut,uint256 minAmountOut)TokenPermissions(address token,uint256 amount)";
    bytes32 private constant WITNESS_TYPEHASH =
        keccak256("OrderWitness(address recipient,address tokenOut,uint256 minAmountOut)");

    IPermit2 public immutable permit2;
    address public immutable operator;

    event Filled(
        address indexed owner,
        uint256 indexed nonce,
        address sellToken,
        uint256 sellAmount,
        address recipient,
        address buyToken,
        uint256 buyAmount
    );

    error OnlyOperator();
    error TooMuchSold(uint256 sellAmount, uint256 permitted);
    error TooLittleBought(uint256 buyAmount, uint256 minAmountOut);
    error PayoutFailed();

    constructor(address permit2_, address operator_) {
        permit2 = IPermit2(permit2_);
        operator = operator_;
    }

    /// @notice Settles one order or reverts.
    function settle(Fill calldata fill) external {
        if (msg.sender != operator) revert OnlyOperator();
        _settle(fill);
    }

    /// @notice Settles all of several orders or none. A successful transaction therefore proves that each order was settled,
    /// in this order.
    function settleBatch(Fill[] calldata fills) external {
        if (msg.sender != operator) revert OnlyOperator();
        for (uint256 i = 0; i < fills.length; i++) {
            _settle(fills[i]);
        }
    }

    function _settle(Fill calldata fill) private {
        if (fill.sellAmount > fill.permit.permitted.amount) {
            revert TooMuchSold(fill.sellAmount, fill.permit.permitted.amount);
        }
        if (fill.buyAmount < fill.witness.minAmountOut) {
            revert TooLittleBought(fill.buyAmount, fill.witness.minAmountOut);
        }
        permit2.permitWitnessTransferFrom(
            fill.permit,
            IPermit2.SignatureTransferDetails({to: address(this), requestedAmount: fill.sellAmount}),
            fill.owner,
            keccak256(
                abi.encode(
                    WITNESS_TYPEHASH, fill.witness.recipient, fill.witness.tokenOut, fill.witness.minAmountOut
                )
            ),
            WITNESS_TYPE_STRING,
            fill.signature
        );
        if (!IERC20(fill.witness.tokenOut).transfer(fill.witness.recipient, fill.buyAmount)) {
            revert PayoutFailed();
        }
        emit Filled(
            fill.owner,
            fill.permit.nonce,
            fill.permit.permitted.token,
            fill.sellAmount,
            fill.witness.recipient,
            fill.witness.tokenOut,
            fill.buyAmount
        );
    }
}
