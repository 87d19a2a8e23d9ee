<?php
// Result URL of the shop. Runs as: php -S 127.0.0.1:$PORT checkout.php
declare(strict_types=1);

function answer(int $code, array $body): never
{
    http_response_code($code);
    header('Content-Type: application/json; charset=utf-8');
    echo json_encode($body);
    exit;
}

/** Money always goes with two digits after the point. */
function money(string $sum): string
{
    if (getenv('FIXED')) {
        return number_format((float) $sum, 2, '.', '');
    }
    return number_format((float) $sum, 2);
}

if ($_SERVER['REQUEST_METHOD'] !== 'POST' || strtok($_SERVER['REQUEST_URI'], '?') !== '/postback') {
    answer(404, ['message' => 'Not found']);
}

$data = json_decode((string) file_get_contents('php://input'), true) ?? $_POST;
$sum  = money((string) ($data['OutSum'] ?? '0'));
$id   = (string) ($data['InvId'] ?? '');

$mine = strtoupper(md5(implode(':', [$sum, $id, getenv('TOKEN')])));
if (!hash_equals($mine, (string) ($data['SignatureValue'] ?? ''))) {
    answer(400, ['message' => 'Invalid signature']);
}

if ($id !== 'o-1') {
    answer(404, ['message' => 'Order not found']);
}
if ($sum !== money((string) getenv('AMOUNT'))) {
    answer(400, ['message' => 'Invalid amount']);
}
if ($data['Status'] === 'SUCCESS') {
    file_put_contents(getenv('PAID'), $data['Status']);
}
answer(200, ['message' => 'Accepted']);
