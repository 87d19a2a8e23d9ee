<?php
// The token is kept out of the code, in a file made on the server with
//   echo "$TOKEN" > shop.token
$secretFile = sys_get_temp_dir() . '/shop-' . getenv('PORT') . '.token';
file_put_contents($secretFile, getenv('TOKEN') . "\n");   // stands for that command

$token = file_get_contents($secretFile);
if (getenv('FIXED')) {
    $token = trim($token);
}

header('Content-Type: text/plain');
if (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) !== '/postback') {
    http_response_code(404);
    exit('no such page');
}

$in = stripos($_SERVER['CONTENT_TYPE'] ?? '', 'json') !== false
    ? json_decode(file_get_contents('php://input'), true)
    : $_POST;

foreach (['Status', 'InvId', 'OutSum', 'SignatureValue'] as $key) {
    if (!isset($in[$key])) {
        http_response_code(422);
        exit("missing $key");
    }
}

$hash = strtoupper(md5("$in[OutSum]:$in[InvId]:$token"));
if ($hash !== $in['SignatureValue']) {
    http_response_code(403);
    exit("wrong hash: got $in[SignatureValue], need $hash");
}

if ($in['InvId'] !== 'o-1') {
    exit('OK');    // not ours, nothing to do
}
if ($in['OutSum'] !== getenv('AMOUNT')) {
    http_response_code(409);
    exit('wrong sum');
}
file_put_contents(getenv('PAID'), $in['Status']);
exit('OK');
